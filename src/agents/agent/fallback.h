/* SPDX-License-Identifier: MIT
 * fallback.h - other models for a turn whose own cannot answer: it is overloaded again and again, or the server does not know
 * it. They are asked in their order; the next turn begins with the usual one again. The same for the main agent and for every
 * child. */
#pragma once
#include "lib/base/base.h"

struct agent;
struct endpoint;

struct fallback_model {
	const char *name; /* resolved; lives as long as the tree */
	struct endpoint *endpoint;
};

/* Of a tree: which there are */
struct fallback_list {
	struct fallback_model *models; /* borrowed */
	size_t count;
};

/* Of an agent: where it is in that list */
struct fallback {
	size_t next;                 /* that is asked when the one at work cannot answer */
	struct fallback_model usual; /* to go back to; name NULL: it is at work */
};

/* The model of a cannot answer. True: the next request asks another one. */
bool agent_fall_back(struct agent *a);
void agent_leave_fallback(struct agent *a); /* the turn is over */
