/* SPDX-License-Identifier: MIT
 * skill_use.h - an agent uses a skill, and has some from its birth: those that its definition names, and of a child the one
 * that its initial prompt begins with. */
#pragma once
#include "defs/skill/registry.h"
#include "defs/skill/render.h"
#include "agents/agent/tree.h"

struct skill_use;

/* Borrowed until return */
struct skill_result {
	struct str text;
	struct str failure; /* n > 0: it cannot be used, and this is why */
	bool is_known;      /* the model has this very text already */
};
typedef void skill_use_fn(void *data, const struct skill_result *result);

/* The skill of this name as the disk has it now; NULL: there is none. Good until the loop turns. */
const struct catalog_entry *agent_skill(struct agent *a, struct str name);
unsigned agent_skill_views(const struct agent *a, const struct catalog_entry *e); /* enum skill_view */
/* Why there is none of this name, with names that look like it. */
void agent_explain_no_skill(struct buf *out, const struct agent *a, struct str name);

/* Leads to done exactly once, from the loop. lasting: what it allows, forbids and hooks into holds on; otherwise its own commands
 * alone are allowed by it. */
struct skill_use *skill_use_start(struct agent *a, struct skill *skill, struct str arguments, bool lasting,
				  skill_use_fn *done, void *data);
void skill_use_cancel(struct skill_use *u); /* a request: done still comes */
/* A command or a file of a skill about which somebody is asked, by the id of its call; NULL: there is none. */
struct tool_call *skill_use_question(const struct agent *a, const char *call_id);

/* The list of skills as a system reminder, if the agent can use them and has not been told this list yet. */
void agent_list_skills(struct agent *a, struct buf *out);
/* An agent that was told a list hears with its next request of those that have come to it: shows says which. */
void agent_tell_skills(struct agent *a, bool (*shows)(void *data, const struct catalog_entry *e), void *data);
void agent_tree_reload_skills(struct agent_tree *t); /* whatever was looked at when */

/* ---- from birth --------------------------------------------------------------------------------------------------- */

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

int agent_preload(struct agent *a, struct err *err); /* a step of life[] */
