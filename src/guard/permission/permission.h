/* SPDX-License-Identifier: MIT
 * permission.h - may this tool be used with this input? The one place that decides, for the main agent and for every child.
 *
 * Each agent has one struct permission, which it owns; a child's points to its parent's. A decision looks at the whole line
 * up to the main agent:
 *
 *     deny rules and limits of any agent in the line -> DENY
 *     plan mode and something that writes          -> DENY
 *     ask rules of any agent in the line           -> ASK
 *     protected or critical path, a question       -> ASK (protected: not in bypass)
 *     a command that wishes to leave the sandbox   -> ASK
 *     a hook allows, or bypass                     -> ALLOW
 *     allow rules                                  -> ALLOW
 *     reading, working directories, the mode       -> ALLOW, and the kernel holds it to that (guard/sandbox)
 *     a sandbox holds it, and that is enough       -> ALLOW
 *     otherwise                                    -> ASK, and DENY if no one can be asked
 *
 * Nothing that a child brings can make an earlier line of this list disappear. Only the mode may be wider than the
 * parent's, and the allow rules may be others. docs/internals/permission.md has the details. */
#pragma once
#include "guard/permission/mode.h"
#include "guard/permission/rule_set.h"
#include "core/tool/tool.h"

enum permission_decision { PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };

/* What the kernel cannot hold commands to (guard/sandbox): these are asked about. */
enum permission_unenforced {
	PERMISSION_ENFORCED,
	PERMISSION_EDITS_UNENFORCED, /* changes of files in the working directories */
	PERMISSION_ALL_UNENFORCED,   /* reading too: only what takes no files and no options that matter passes */
};

/* Rules for a while: those that a skill brings, for as long as the turn lasts that uses it */
struct permission_grant {
	struct permission_grant *next;
	struct rule_set *rules; /* owned */
};

/* Tools whose names begin so, for which a mode that asks nothing is narrower */
struct permission_narrowing {
	struct permission_narrowing *next;
	enum permission_mode mode; /* default or auto */
	char tools[];
};

/* Zeroed: default mode, no rules, no one to ask. */
struct permission {
	enum permission_mode mode; /* chosen for this agent; permission_mode() says which one holds */
	bool can_ask;              /* questions can be answered */
	bool trusted;              /* of the main agent: the user trusts the folder where it started */
	bool managed_only;         /* of the main agent: only the settings' allow rules count, which are managed ones */
	bool bypass_off, auto_off; /* of the main agent: modes that no agent of the session may be in */
	enum permission_unenforced unenforced; /* of the main agent, for all of the session */
	const char *root;                      /* where the agent started; NULL: as the call says. Borrowed */
	const char *const *dirs;   /* its working directories, NULL-terminated; NULL: as the call says. Borrowed */
	const char *default_agent; /* type of an Agent call that names none; NULL: general-purpose. Borrowed */
	struct rule_set *rules;    /* of the settings: a reference, see permission_use_rules(); NULL: none */
	struct rule_set *own;      /* added since: command line, answers, limits of birth. Owned; NULL: none */
	struct permission_grant *grants;         /* owned; newest first */
	struct permission_narrowing *narrowings; /* of the main agent, for all of the session; owned */
	const char *const
		*own_dirs; /* of the main agent: cadre's configuration, see permission_is_own(). Borrowed; NULL: none */

	/* A child's; set by permission_derive() */
	const struct permission *parent; /* borrowed: outlives the child; NULL: the main agent */
	bool inherits_mode, mode_invalid, mode_may_widen;
	bool mode_holds;        /* its mode narrows a wide one above, too */
	bool is_gone;           /* the agent has ended: only its limits are left (record.h) */
	bool replaces_allow;    /* allow rules of ancestors do not count */
	const char *write_root; /* file tools write only below it; in own's arena */
	const char *main_checkout;
	/* What is below it is judged as the same path below these, too: checkouts that it is a copy of. The main agent's, where
	 * the user started it in a linked worktree, are borrowed. */
	const char *copy_root, *copy_of[2];
	const char *memory_dir;          /* may be written without a question; in own's arena */
	const char *const *memory_tools; /* that it has for that directory alone; NULL-terminated, or NULL. As above */
	const char *plan_file;           /* the same, in plan mode too; without links. Borrowed; NULL: none */
};

/* "Bash(git *)" in tools or disallowedTools of a definition */
struct permission_limit {
	const char *tool;
	const char *specifier; /* NULL: all uses */
};

/* Of the main agent; NULL for NULL */
static inline const struct permission *permission_main(const struct permission *p)
{
	while (p && p->parent)
		p = p->parent;
	return p;
}

/* What a definition and a call say about a child. Borrowed until permission_derive() returns. */
struct permission_birth {
	const char *mode; /* the definition's; NULL: the parent's holds, live */
	bool mode_invalid;
	bool mode_holds;     /* the call that started it chose the mode: it narrows a wide one above, too */
	bool mode_may_widen; /* the folder is trusted, it is not a plugin, and no managed switch forbids it */
	bool can_ask;
	const struct permission_limit *only; /* of a tool in here, one specifier must match */
	size_t only_count;
	const struct permission_limit *never; /* none may match */
	size_t never_count;
	const struct permission_limit *agents; /* {"Agent", type}: the types it may start, as in only */
	size_t agent_count;
	const char *write_root;    /* worktree: file tools write only here; NULL: no such limit */
	const char *main_checkout; /* what the worktree is a copy of; NULL: unknown */
	const char *origin;     /* the checkout that it was made from, if that is a worktree itself; NULL: it is not */
	const char *memory_dir; /* the agent's own memory; NULL: none */
	const char *const *memory_tools; /* names of tools that it has for its memory alone */
	size_t memory_tool_count;
	const char *const *allow; /* allowedTools of a call: they replace the session's allow rules for the child */
	size_t allow_count;
	bool replaces_allow;     /* also when allow is empty */
	const char *const *more; /* allow rules besides the session's, NULL-terminated; NULL: none */
};

void permission_release(struct permission *p);
/* The rules of the settings: keeps a reference and drops the one to those it had. NULL: none. */
static inline void permission_use_rules(struct permission *p, struct rule_set *rules)
{
	struct rule_set *old = p->rules;

	p->rules = rule_set_ref(rules);
	rule_set_unref(old);
}
/* A rule of the command line or of the session. As rule_set_add(). */
int permission_add_rule(struct permission *p, enum rule_list list, struct str text, const struct rule_origin *origin,
			rule_warn_fn *warn, void *data, struct err *err);
/* Takes rules of the session away again: that of the list with this text, or all (NULL). Only from the main agent. */
void permission_drop_rules(struct permission *p, enum rule_list list, const char *text);
/* A new and empty set of rules for a while; they count like any others of this agent. */
struct permission_grant *permission_grant(struct permission *p);
void permission_revoke(struct permission *p, struct permission_grant *grant); /* NULL: all of them */
/* Tool limits and memory of a birth: what the main agent takes from it when it runs as a definition. */
void permission_limit(struct permission *p, const struct permission_birth *birth);
/* Its memory: both are copied. */
void permission_give_memory(struct permission *p, const char *dir, const char *const *tools, size_t tool_count);
/* child need not be initialised. A limit that is not a valid rule forbids its tool. */
void permission_derive(struct permission *child, const struct permission *parent, const struct permission_birth *birth);

enum permission_mode permission_mode(const struct permission *p); /* that holds now */
/* Can the mode chosen for this agent make a difference, to it or to those below it? */
bool permission_mode_matters(const struct permission *p);
/* The user chose a mode for this agent, in place of the one that it was started with; or gives it its parent's again. */
static inline void permission_choose_mode(struct permission *p, enum permission_mode mode)
{
	p->mode = mode;
	p->inherits_mode = p->mode_invalid = false;
	p->mode_may_widen = true;
}
static inline void permission_inherit_mode(struct permission *p)
{
	p->inherits_mode = true;
	p->mode_invalid = false;
}
/* The mode that holds for calls of this tool. */
enum permission_mode permission_mode_for(const struct permission *p, const char *tool);
/* In the modes bypass and auto, tools whose names begin so are in this mode: default or auto. PERMISSION_BYPASS: as others. Of
 * the main agent only; its children follow. */
void permission_narrow(struct permission *p, struct str tools, enum permission_mode mode);
static inline bool permission_can_ask(const struct permission *p)
{
	if (p->parent && p->mode == PERMISSION_BUBBLE && !p->inherits_mode)
		return permission_can_ask(p->parent);
	return p->can_ask;
}

/* A file of cadre's own configuration, whatever that directory is called: as protected as those that are known by their names
 * (path_is_protected()). path is absolute. */
bool permission_is_own(const struct permission *p, const char *path);

/* A deny rule in the line is about every use of the tool, so that it is not offered. */
bool permission_hides(const struct permission *p, const struct tool *tool);
/* The same, with rules that hold for a turn. */
bool permission_forbids(const struct permission *p, const struct tool *tool);
/* The same for all that an MCP server offers: resources, prompts and instructions besides tools, and questions to the user. */
bool permission_forbids_server(const struct permission *p, const char *server);

/* Every set of rules that holds for an agent: its own, its grants, those of the settings, then its ancestors'. Allow rules end
 * with an agent that brought its own. */
struct rule_walk {
	const struct permission *owner; /* of the set; at first: the agent */
	enum rule_list list;
	const struct rule_set *set;           /* never NULL after a step that returned true */
	bool in_grant;                        /* the set is that of a grant */
	const struct permission_grant *grant; /* the next one */
	enum { WALK_OWN, WALK_GRANTS, WALK_RULES } stage;
};
bool rule_walk_next(struct rule_walk *w);

/* What hooks said about the call. Theirs is never the last word: deny and ask rules come first. */
enum permission_hint { PERMISSION_HINT_NONE, PERMISSION_HINT_ALLOW, PERMISSION_HINT_ASK };

#define PERMISSION_STEPS(X)            \
	X(DENY_RULE, "deny rule")      \
	X(LIMIT, "limit of the agent") \
	X(PLAN, "plan mode")           \
	X(ASK_RULE, "ask rule")        \
	X(SAFETY, "safety check")      \
	X(LEAVE, "leaves the sandbox") \
	X(HOOK, "hook")                \
	X(BYPASS, "bypass mode")       \
	X(ALLOW_RULE, "allow rule")    \
	X(READING, "changes nothing")  \
	X(SANDBOX, "sandbox")          \
	X(MODE, "mode")
enum permission_step {
#define X(step, text) PERMISSION_STEP_##step,
	PERMISSION_STEPS(X)
#undef X
};
const char *permission_step_name(enum permission_step step);

/* A zeroed struct is ready; permission_verdict_release() ends it. */
struct permission_verdict {
	enum permission_decision decision;
	enum permission_step step;           /* that decided */
	enum permission_mode mode;           /* that holds for the agent */
	const struct rule *rule;             /* that decided, borrowed from the context; NULL: none */
	const struct permission *rule_owner; /* whose rule it is: the agent's own context or an ancestor's */
	bool classify;                       /* auto mode: a classifier may decide instead of a person */
	bool unanswerable;                   /* it is DENY because no one can be asked */
	struct buf reason;                   /* DENY: for the model; ASK: for the person; ALLOW: empty */
	char *file, *file_target; /* what was judged (core/tool/tool.h), owned; NULL: no file, or a loop of links */
};
void permission_explain(const struct permission *p, struct tool_use use, enum permission_hint hint,
			struct permission_verdict *ret);
static inline void permission_verdict_release(struct permission_verdict *v)
{
	buf_release(&v->reason);
	free(TAKE(v->file));
	free(TAKE(v->file_target));
}
/* The verdict is the one by which the call may run, now or after a question: its file is the call's. */
void permission_bind(struct tool_call *call, const struct permission_verdict *v);

/* Of a path in the worktree of this agent: the file in copy_of[i] that it is a copy of, in the arena; NULL: it is none. What
 * rules forbid there they forbid here. */
const char *permission_main_path(const struct permission *p, struct arena *a, const char *path, size_t i);

/* An allow rule of the agent's line is about this host (normal, see rule_pattern.h) or a part of the net that it is in. A rule
 * for all hosts names none. */
bool permission_names_host(const struct permission *p, struct str host);

enum { SUGGESTION_MAX_BYTES = 500 }; /* a person would not read a longer one */

/* The rule that would let such a use pass without a question next time, in the arena; NULL: no rule of the session would.
 * It allows what the person sees and nothing beside it: a command word for word, a path, a host, a tool by its name. A prefix
 * is never suggested: a person who allowed `git push origin` did not see `git push origin --force`. */
const char *permission_suggest(struct arena *a, const struct permission *p, struct tool_use use);

/* Files that a search must not show, though it may look at the directories around them: some deny rule forbids to read them. A
 * snapshot: it is made and freed on the loop and used on any thread, while rules may be added. */
struct hidden_files;

/* What is hidden below root (absolute) from the agent whose env this is, or with edits what it must not change. target: where root
 * leads; NULL: where it leads now. Returns owned; NULL: nothing is. */
struct hidden_files *denied_files_find(const struct tool_env *env, const char *root, const char *target, bool edits);
static inline struct hidden_files *hidden_files_find_at(const struct tool_env *env, const char *root,
							const char *target)
{
	return denied_files_find(env, root, target, false);
}
static inline struct hidden_files *hidden_files_find(const struct tool_env *env, const char *root)
{
	return hidden_files_find_at(env, root, NULL);
}
static inline struct hidden_files *unwritable_files_find(const struct tool_env *env, const char *root)
{
	return denied_files_find(env, root, NULL, true);
}
/* Adds what an answer depends on besides the rules: directories, and where links lead that rules name. h may be NULL. */
void hidden_files_describe(const struct hidden_files *h, struct buf *out);
void hidden_files_free(struct hidden_files *h);
/* path begins with root. Of a directory that is hidden all below it is, too. h may be NULL. */
bool hidden_files_has(const struct hidden_files *h, const char *path);
bool file_is_hidden(const struct tool_env *env, const char *path); /* this file, or the one that it leads to */
