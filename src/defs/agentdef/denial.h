/* SPDX-License-Identifier: MIT
 * denial.h - deny rules that take agent types away: "Agent(Explore)", "Task(a, b)", bare "Agent" or "Agent(*)" for all, and
 * the object form {"tool": "Task", "args": "Explore"}. Rules about other tools, and about parameters of a call such as
 * "Agent(model:opus)", are the permission engine's. */
#pragma once
#include "lib/base/arena.h"
#include "lib/json/json.h"

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
void agent_denials_add_rule(struct agent_denials *d, struct str rule, const char *origin);
void agent_denials_release(struct agent_denials *d);
/* The rule that takes this type away, or NULL. Types match as they do in a call: case and separators are ignored, and an
 * alias is the agent that it stands for. */
const struct agent_denial *agent_denials_find(const struct agent_denials *d, struct str type);

/* Whether two agent types are the same to a caller: "Code Reviewer" is code-reviewer. */
bool agent_type_same(struct str a, struct str b);
