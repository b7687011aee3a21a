/* SPDX-License-Identifier: MIT
 * judge_int.h - one decision while it is made. The steps are in judge.c; what a step means for a kind of tool is that kind's
 * inspector. */
#pragma once
#include "guard/permission/permission.h"
#include "guard/permission/place.h"

struct judge;

struct inspector {
	void (*prepare)(struct judge *j); /* reads the input, once; may be NULL */
	/* A rule of this set that denies or asks, bare ones and those about parameters apart. */
	const struct rule *(*matches)(struct judge *j, const struct rule_set *set, enum rule_list list);
	bool (*fits)(struct judge *j,
		     const struct rule_set *set); /* one limit for this tool holds for all of the call */
	const char *(*leaves)(struct judge *j);   /* why it leaves its worktree or its memory, or NULL; may be NULL */
	const char *(*plans)(struct judge *j);    /* what it would write although it plans, or NULL; may be NULL */
	const char *(*danger)(struct judge *j, bool *ret_critical); /* why somebody must look, or NULL; may be NULL */
	/* Rules allow it, it changes nothing, or the mode lets it pass: sets step and rule and returns true. Otherwise it
	 * may say why not, for the person or the model. */
	bool (*passes)(struct judge *j, struct buf *why);
};
extern const struct inspector inspect_name, inspect_file, inspect_shell;

struct judge {
	const struct permission *p;
	struct tool_use use;
	const struct tool_facts *subject; /* NULL: known by name alone */
	const struct inspector *inspector;
	const char *tool;   /* today's name, lower case */
	const char *leader; /* the tool whose bare rules hold for this one too; NULL: none */
	enum permission_mode mode;
	enum permission_hint hint;
	struct arena arena;
	struct path_anchors wide;   /* where paths of rules that deny or ask may start */
	struct path_anchors narrow; /* and those of rules that allow */
	struct permission_verdict *v;
	struct place place;       /* a file's */
	struct shell_case *shell; /* a command's */
};

/* The value of an input member; empty if it is none. */
struct str judge_text(struct judge *j, const char *member);
bool judge_decide(struct judge *j, enum permission_decision decision, enum permission_step step,
		  const struct rule *rule);
typedef const struct rule *judge_find_fn(struct judge *j, const struct rule_set *set, enum rule_list list);
/* The first rule of the agent's line; remembers whose it is. Allow rules end where an agent brought its own. */
const struct rule *judge_find(struct judge *j, enum rule_list list, judge_find_fn *find);
const struct rule *judge_find_bare(struct judge *j, const struct rule_set *set, enum rule_list list);
/* A rule that denies or asks about this place, or about what it links to. */
const struct rule *judge_find_place(struct judge *j, const struct rule_set *set, enum rule_list list, bool edits,
				    const struct place *place);
/* An allow rule of the line for this place, if there is one for what it links to as well. */
const struct rule *judge_allows_place(struct judge *j, bool edits, const struct place *place);
/* Inside the working directories of the agent and of all above it. */
bool judge_is_working_dir(struct judge *j, const struct place *place);
/* There, or in the results of earlier calls, or by a rule. */
bool judge_may_read(struct judge *j, const struct place *place);
bool judge_accepts_edit(struct judge *j, const struct place *place);            /* the mode does, there */
const char *judge_outside_worktree(struct judge *j, const struct place *place); /* why, or NULL */
bool judge_is_memory(struct judge *j, const struct place *place);
