/* SPDX-License-Identifier: MIT
 * evaluation_int.h - one decision while it is made. The steps are in evaluate.c; what a step means for a kind of tool is that kind's
 * checker. */
#pragma once
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"

struct evaluation;

struct tool_checker {
	void (*prepare)(struct evaluation *ev); /* reads the input, once; may be NULL */
	/* A rule of this set that denies or asks, bare ones and those about parameters apart. */
	const struct rule *(*matches)(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
	/* One that may be meant, where that is not certain: sets doubt. May be NULL. */
	const struct rule *(*suspects)(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
	/* The limits of this set, of which some are for this tool, cover all of the call. */
	bool (*fits)(struct evaluation *ev, const struct rule_set *set);
	/* These three may be NULL, and return NULL if nothing is wrong. Why it leaves its worktree or its memory: */
	const char *(*leaves)(struct evaluation *ev);
	const char *(*plans)(struct evaluation *ev);                      /* what it would write although it plans */
	const char *(*danger)(struct evaluation *ev, bool *ret_critical); /* why a person must decide */
	/* Rules allow it, it changes nothing, or the mode lets it pass: sets step and rule and returns true. Otherwise it
	 * may add to the reason, for the person or the model. */
	bool (*passes)(struct evaluation *ev);
};
extern const struct tool_checker check_file, check_shell;

struct evaluation {
	const struct permission *p;
	struct tool_use use;
	const struct tool_facts *subject; /* NULL: known by name alone */
	const struct tool_checker *checker;
	const char *tool;   /* today's name, lower case */
	const char *leader; /* the tool whose bare rules hold for this one too; NULL: none */
	bool edits;         /* it writes a file */
	bool is_plan;       /* a file tool writes the plan */
	bool accepts_edits; /* the mode does, in the working directories */
	enum permission_mode mode;
	enum permission_unenforced unenforced; /* of the session */
	enum permission_hint hint;
	struct arena arena;
	struct path_anchors wide;    /* where paths of rules that deny or ask may start */
	struct path_aliases aliases; /* of what these name */
	bool has_aliases;            /* they were looked for */
	struct path_anchors narrow;  /* and those of rules that allow */
	struct permission_verdict *v;
	const char *doubt;         /* why it is not certain that a rule is meant */
	struct resolved_path file; /* a file's */
	struct shell_case *shell;  /* a command's */
};

/* The value of an input member; empty if it is none. */
static inline struct str eval_text(struct evaluation *ev, const char *member)
{
	return json_str(json_get(ev->use.input, member), &ev->arena);
}
bool eval_decide(struct evaluation *ev, enum permission_decision decision, enum permission_step step,
		 const struct rule *rule);
typedef const struct rule *eval_find_fn(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
/* The first rule of the agent's line; remembers whose it is. */
const struct rule *eval_find(struct evaluation *ev, enum rule_list list, eval_find_fn *find);
const struct rule *eval_find_bare(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
/* A rule that denies or asks about this file, or about what it links to. */
const struct rule *eval_find_path_rule(struct evaluation *ev, const struct rule_set *set, enum rule_list list,
				       bool edits, const struct resolved_path *file);
/* An allow rule of the line for this file, if there is one for what it links to as well. */
const struct rule *eval_allows_path(struct evaluation *ev, bool edits, const struct resolved_path *file);
/* Inside the working directories of the agent and of all above it. */
bool eval_is_working_dir(struct evaluation *ev, const struct resolved_path *file);
bool eval_is_protected(struct evaluation *ev, const struct resolved_path *file);
/* There, or in the results of earlier calls, or by a rule. */
bool eval_may_read(struct evaluation *ev, const struct resolved_path *file);
const char *eval_outside_worktree(struct evaluation *ev, const struct resolved_path *file); /* why, or NULL */
static inline bool eval_is_memory(struct evaluation *ev, const struct resolved_path *file)
{
	return ev->p->memory_dir && resolved_path_is_inside(&ev->arena, file, ev->p->memory_dir);
}
