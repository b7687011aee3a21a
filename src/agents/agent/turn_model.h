/* SPDX-License-Identifier: MIT
 * turn_model.h - another model, another effort for the rest of a turn: those of a skill that an agent uses. Both hold from the
 * next request on; with the end of the turn the agent has its own again. A fallback (fallback.h) stands above it: it is left
 * first. */
#pragma once
#include "lib/base/base.h"

struct agent;
struct endpoint;
struct skill;

/* Of an agent: what it goes back to, and what it has meanwhile */
struct turn_model {
	bool on;
	const char *model; /* its own */
	struct endpoint *endpoint;
	const char *own_effort, *effort; /* NULL: the model's own; effort: NULL if the skill says nothing */
};

/* A model that is not known, not allowed or cannot be asked is said to the user and changes nothing. */
void agent_take_turn_model(struct agent *a, const struct skill *s);
void agent_leave_turn_model(struct agent *a); /* the turn is over */
/* For who makes its head anew: the effort of this turn, where its own would be this one. Keeps a copy. */
const char *agent_turn_effort(struct agent *a, const char *own);
