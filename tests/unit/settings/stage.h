/* SPDX-License-Identifier: MIT
 * stage.h - a user, a project and a machine in a temporary directory. */
#pragma once
#include "unit.h"
#include "config/settings/settings.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct settings_spec
		spec; /* cwd: top/project, config: config, managed: managed; top is a repository; trusted */
	struct settings *settings;
};

void stage_init(struct stage *s);
void stage_release(struct stage *s);
char *stage_path(struct stage *s, const char *name);
void stage_put(struct stage *s, const char *name, const char *text);
char *stage_text(struct stage *s, const char *name); /* what a file holds */
void stage_remove(struct stage *s, const char *name);
void stage_load(struct stage *s);
void stage_git(struct stage *s, const char *dir, const char *script); /* lines for sh, which must succeed */
/* The error of a load that must fail, without the directory of the stage. */
const char *stage_error(struct stage *s);
const char *stage_refusal(struct stage *s);               /* the same of one after which no agent may run */
const char *stage_get(struct stage *s, const char *path); /* the merged value as JSON; "-": not set */
/* LAYER FILE:LINE of the winner, without the directory of the stage. */
const char *stage_origin(struct stage *s, const char *path);
const char *stage_short(struct stage *s, const char *text); /* without the directory of the stage */
