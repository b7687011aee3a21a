/* SPDX-License-Identifier: MIT
 * model.h - the model of an agent, and another one for the rest of a turn: that of a skill, or a fallback for one that cannot
 * answer. The next turn begins with the usual one again. A fallback stands above the model of a skill: it is left first. */
#pragma once
#include "lib/base/base.h"

struct agent;
struct arena;
struct agent_tree;
struct endpoint;
struct skill;

/* The step of life[]: call, definition, settings, parent; of the main agent option, definition, settings, and the fallbacks of
 * all agents. */
int agent_choose_model(struct agent *a, struct err *err);
/* Of the main agent, also while it runs. name: NULL for that of the option, the definition or the settings. On failure nothing
 * has changed. */
int agent_set_model(struct agent *a, const char *name, struct err *err);
/* The id that it would be then, in the agent's arena; NULL: an error. */
const char *agent_find_model(struct agent *a, const char *name, struct err *err);

/* Of an agent whose model depends on its permission mode (opusplan). plan NULL: it does not. */
struct mode_model {
	const char *plan, *other;
};

/* That of its next request, in the arena; NULL: none is sent, and the model's own counts */
const char *agent_effort(const struct agent *a, struct arena *arena);

/* Before each request, and when the mode is known first: the model of the mode that holds now. That of a skill and a fallback stay
 * until the turn is over. */
void agent_follow_mode(struct agent *a);

/* Another model for the rest of a turn: what the agent goes back to, and what it has meanwhile */
struct turn_model {
	bool on;
	const char *model; /* its own */
	struct endpoint *endpoint;
	const char *own_effort, *effort; /* NULL: the model's own; effort: NULL if the skill says nothing */
};

/* A model that is not known, not allowed or cannot be asked is said to the user and changes nothing. */
void agent_take_turn_model(struct agent *a, const struct skill *s);
/* For a new head: the effort of this turn, where its own would be this one. Keeps a copy. */
const char *agent_turn_effort(struct agent *a, const char *own);

/* In place of one that cannot answer */
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
/* Other fallbacks for all agents of the session, names with commas between them; on failure nothing has changed. */
int agent_tree_set_fallbacks(struct agent_tree *t, const char *names, struct err *err);
void agent_leave_turn_models(struct agent *a); /* the turn is over: a fallback and a model for it are, too */
