/* SPDX-License-Identifier: MIT
 * policy.h - the settings, compiled once for all sessions of a runtime that have the same folder and options: rules, hooks,
 * environment, trust. Checked again before each turn; a file that has become invalid is reported and leaves everything as it was. */
#pragma once
#include "guard/hook/set.h"
#include "guard/permission/rule_set.h"
#include "config/settings/settings.h"
#include "defs/policy/options.h"

struct mcp_config;
struct services;

struct policy {
	struct policy *next;           /* in services->policies */
	unsigned refs;                 /* the same */
	struct options options;        /* a copy: what the session was opened with; texts are those of the runtime */
	struct mcp_config *mcp_config; /* owned; NULL: not loaded yet */
	struct settings *settings;     /* reference; NULL: not loaded yet */
	struct settings *seen;         /* reference: newer files that a hook rejected; NULL: none */
	struct arena arena;            /* of what is below; new with each change */
	struct rule_set *rules;        /* reference */
	struct hook_set *hooks;        /* reference; NULL: none */
	struct hook_policy hook_policy;
	const char *const *own_envp; /* of hooks and helpers: a copy, in env_arena */
	const char *const *envp;     /* of commands and servers: the same without keys of models */
	struct arena env_arena;
	const char *git_text; /* how to commit, for agents with Bash in a repository; NULL: they are not told */
	bool trusted;         /* the user trusts the folder */
	struct buf notes;     /* for the user, a line each */
	unsigned generation;  /* changes when anything above does */
};

int policy_load(struct services *sv, struct err *err); /* services->policy, once; -ERR_USAGE names file and line */
/* For a session that is opened now: services->policy, or another one of the runtime, if folder and options are the same. Returns a
 * reference. */
int policy_open(struct services *sv, struct policy **ret_policy, struct err *err);
static inline struct policy *policy_ref(struct policy *p) /* keeps a reference, returns it */
{
	p->refs++;
	return p;
}
void policy_unref(struct services *sv, struct policy *p); /* NULL is allowed */
/* 1: files have changed, *ret_changed is the new policy (returns owned); 0: nothing; -ERR_USAGE: a file is invalid, the old
 * policy stays. */
int policy_look(struct services *sv, struct policy *p, struct policy **ret_changed, struct err *err);
/* As p->options and files are now, changed or not. Returns owned. */
int policy_renew(struct services *sv, struct policy *p, struct policy **ret_changed, struct err *err);
/* Takes it: it holds from now on, and the one before it is gone. policy_apply() brings it to the sessions, which borrow. */
void policy_adopt(struct policy *p, struct policy *changed);
static inline enum env_trust policy_env_trust(const struct policy *p) /* in variables of the project */
{
	return p->trusted ? ENV_ALL : p->options.interactive ? ENV_OWN : ENV_SAFE;
}
void policy_renew_env(struct services *sv); /* a variable has changed; session_use_env() brings it to the sessions */
void policy_decline(struct policy *p,
		    struct policy *changed); /* takes it: the old one holds until files change again */
void policy_release(struct policy *p);
