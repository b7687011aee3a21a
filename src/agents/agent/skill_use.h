/* SPDX-License-Identifier: MIT
 * skill_use.h - skills of an agent: those that it uses, and preloaded ones, which its definition names or, of a child, its
 * initial prompt begins with. */
#pragma once
#include "defs/skill/registry.h"
#include "defs/skill/render.h"
#include "defs/skill/skill_text.h"
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
static inline unsigned agent_skill_views(const struct agent *a, const struct catalog_entry *e) /* enum skill_view */
{
	return skill_views(e, a->tree->skills.overrides, a->parent ? NULL : a->tree->services->options.skills);
}
/* Why there is none of this name, with names that look like it. */
void agent_explain_no_skill(struct buf *out, const struct agent *a, struct str name);

/* The allow rules that it brings; NULL: none, or its folder is not trusted. */
const struct name_list *skill_use_allows(const struct agent *a, const struct skill *s);
/* Leads to done exactly once, from the loop. lasting: its allowed and disallowed tools and its hooks stay in force; otherwise
 * it allows only its own commands. */
struct skill_use *skill_use_start(struct agent *a, struct skill *skill, struct str arguments, bool lasting,
				  skill_use_fn *done, void *data);
void skill_use_cancel(struct skill_use *u); /* a request: done still comes */
/* A call of a skill that waits for an answer of the user, by its id; NULL: there is none. */
struct tool_call *skill_use_question(const struct agent *a, const char *call_id);

/* The list of skills as a system reminder, if the agent can use them and has not been told this list yet. */
void agent_list_skills(struct agent *a, struct buf *out);
/* An agent that has a list of skills gets further ones with its next request: those that shows selects. */
void agent_notify_skills(struct agent *a, bool (*shows)(void *data, const struct catalog_entry *e), void *data);
static inline void agent_tree_reload_skills(struct agent_tree *t) /* at once */
{
	if (t->skills.registry)
		catalog_refresh(t->skills.registry);
}

struct preload;

/* Borrowed until it ends, but for the struct itself */
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

/* skill_activation.c: skills that an agent gets by the files it works on
 *
 * They belong to a directory below its working directory that has .claude/skills of its own, or have `paths`. They stay
 * inactive until a tool of the agent touches a matching path; then its model gets their descriptions. Each agent activates
 * its own; a fork has those of its parent. */

struct skill_activation; /* directories and skills that an agent has touched; owned by it, NULL: none */

/* The call has succeeded. The next request lists the skills that it activates, and has the instructions for its file. */
void agent_touch(struct agent *a, const struct tool_call *call);
/* A file that the agent touched in an earlier process: the next list of skills has its skills. summarized: before a compaction,
 * so its instructions are not in the conversation any more. */
void agent_restore_touch(struct agent *a, const char *path, bool summarized);
bool agent_skill_inactive(const struct agent *a, const struct catalog_entry *e);
void skill_activation_free(struct skill_activation *w);
