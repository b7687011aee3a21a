/* SPDX-License-Identifier: MIT
 * preload.h - skills that an agent has from its birth: those that its definition names, and of a child the one that its initial
 * prompt begins with. */
#pragma once
#include "agents/agent/subagent.h"

struct preload;

/* Borrowed as long as it goes on, but for the struct itself */
struct preload_spec {
	struct agent *agent; /* its environment is open */
	const struct name_list *names;
	const char *initial;       /* "/name arguments"; anything else is not looked at; NULL: none */
	struct buf *skills;        /* gets the texts of those that are named ... */
	struct buf *initial_skill; /* ... and of the initial one */
	struct buf *notes;         /* what is missing, a line each */
	void (*done)(void *data);  /* from the loop, once, also after a stop */
	void *data;
};

/* NULL: there is nothing to make ready, and done does not come. In the agent's arena. */
struct preload *preload_start(const struct preload_spec *spec);
void preload_stop(struct preload *p); /* done comes soon; NULL is allowed */

int subagent_preload(struct agent *a, struct err *err); /* a step of life[] */
