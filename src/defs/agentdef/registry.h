/* SPDX-License-Identifier: MIT
 * registry.h - the catalog of agents.
 *
 * built-in < plugins < user (settings.json, agents/) < project (settings.json, settings.local.json of cwd and of the
 * repository's root, .claude/agents of the main checkout of a linked worktree, of each --add-dir, then of the repository's
 * root down to cwd) < --settings < --agents < managed (managed-settings.json, managed-settings.d, .claude/agents).
 *
 * A later location replaces an earlier one by agent type; of two definitions of one type in the same directory tree the first by
 * path counts. */
#pragma once
#include "config/catalog/catalog.h"
#include "config/settings/settings_file.h"
#include "defs/agentdef/definition.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* Deny rules that take agent types away: "Agent(Explore)", "Task(a, b)", bare "Agent" or "Agent(*)" for all, and
 * the object form {"tool": "Task", "args": "Explore"}. Rules about other tools, and about parameters of a call such as
 * "Agent(model:opus)", are the permission engine's. */
struct agent_denial {
	const char *type;   /* NULL: every type */
	const char *rule;   /* as a rule: "Agent(Explore)" */
	const char *origin; /* where it stands */
};

/* A zeroed struct denies nothing; texts are in the arena */
struct agent_denials {
	struct agent_denial *list;
	size_t count, cap;
	struct arena arena;
};

/* deny: the permissions.deny array of a settings file; anything else is ignored. */
void agent_denials_add(struct agent_denials *d, const struct json *deny, const char *origin);
void agent_denials_release(struct agent_denials *d);
/* The rule that takes this type away, or NULL. Types match as they do in a call: case and separators are ignored, and an
 * alias is the agent that it stands for. */
const struct agent_denial *agent_denials_find(const struct agent_denials *d, struct str type);

/* Whether two agent types are the same to a caller: "Code Reviewer" is code-reviewer. */
bool agent_type_same(struct str a, struct str b);

/* Copies the sources. -ERR_USAGE if a settings file or --agents cannot be read; later such a file is in failed and its
 * previous definitions still apply. */
int agent_registry_new(const struct catalog_sources *sources, struct catalog **ret_registry, struct err *err);

/* An active agent: by its exact type, else by an alias, else ignoring case and separators. NULL: there is none. */
const struct catalog_entry *agent_registry_find(const struct catalog *r, struct str type);
/* The user's or the administrator's own that a caller could mean by this name, whether or not another has its place; NULL: there is
 * none. */
const struct agent_definition *agent_registry_of_user(const struct catalog *r, const char *name);
/* Returns a reference, or NULL with ERR_NOT_FOUND or ERR_DENIED (and the rule) in err. */
struct agent_definition *agent_registry_get(const struct catalog *r, struct str type, struct err *err);
/* The deny rule of the settings or the command line that takes this type away, or NULL. */
static inline const struct agent_denial *agent_denied(const struct catalog *r, struct str type)
{
	return agent_denials_find(r->rules, type);
}

/* The agents that come with the program: .md files in builtin/, compiled in and read like any other.
 * 
 * To add one: 1. builtin/NAME.md; 2. its row in registry.c and its name in the list of meson.build; 3. a row in
 * tests/unit/agentdef/test_builtin.c. */
enum builtin_switches {
	BUILTIN_NONE = 1 << 0,            /* no built-in agent at all */
	BUILTIN_NO_EXPLORE_PLAN = 1 << 1, /* without those two */
	BUILTIN_NO_GUIDE = 1 << 2,
	BUILTIN_COORDINATOR =
		1 << 3, /* `worker` in place of all others, but those that BUILTIN_FIRST_KEPT << ROW names */
	BUILTIN_FIRST_KEPT = 1 << 8,
};
unsigned builtin_keep(const char *const *names); /* these stay beside `worker`; names ends with NULL */

/* Calls fn for each agent that the switches leave, in the order of the table; fn takes the reference. */
void builtin_each(unsigned switches, void (*fn)(void *data, struct agent_definition *d), void *data);

/* The files of builtin/, which the build turns into constants (scripts/embed.py) */
extern const char builtin_bash[];
extern const char builtin_cadre_guide[];
extern const char builtin_explore[];
extern const char builtin_general_purpose[];
extern const char builtin_plan[];
extern const char builtin_statusline_setup[];
extern const char builtin_verification[];
extern const char builtin_worker[];

/* it knows what is configured, and may read it */
static inline bool builtin_is_guide(const struct agent_definition *d)
{
	return d->source == SOURCE_BUILT_IN && !strcmp(d->name, "cadre-guide");
}
