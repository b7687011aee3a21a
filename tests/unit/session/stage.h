/* SPDX-License-Identifier: MIT
 * stage.h - a runtime with one session whose model is a script in this process. */
#pragma once
#include <cadre.h>
#include "unit.h"

struct stage {
	char dir[FOLDER_MAX];
	struct cadre *c;
	struct cadre_session *session; /* NULL: it was closed */
	const char *mcp_config;        /* JSON, or NULL; set before the stage is opened */
	bool unattended;               /* nobody is at a terminal; set before, too */
};

/* scenario: of the model; settings: JSON, or NULL; on_event gets data. */
void stage_open(struct stage *st, const char *scenario, const char *settings, cadre_event_fn *on_event, void *data);
/* The same with settings of an administrator. */
void stage_open_managed(struct stage *st, const char *scenario, const char *managed, cadre_event_fn *on_event,
			void *data);
void stage_set(struct stage *st, const char *option, const char *value); /* for sessions that are opened later */
int stage_prompt(struct stage *st, const char *text);
void stage_close(struct stage *st); /* also what the test did not close */

int test_host(void);
int test_several(void);
int test_turn(void);
int test_effects(void);
