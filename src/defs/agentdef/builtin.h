/* SPDX-License-Identifier: MIT
 * builtin.h - the agents that come with the program: .md files in builtin/, compiled in and read like any other.
 *
 * To add one: 1. builtin/NAME.md; 2. its row in builtin.c and its name in the list of meson.build; 3. a row in
 * tests/unit/agentdef/test_builtin.c. */
#pragma once
#include "defs/agentdef/definition.h"

enum builtin_switches {
	BUILTIN_NONE = 1 << 0,            /* no built-in agent at all */
	BUILTIN_NO_EXPLORE_PLAN = 1 << 1, /* without those two */
	BUILTIN_NO_GUIDE = 1 << 2,
	BUILTIN_COORDINATOR = 1 << 3, /* `worker` alone, in place of all others */
};

/* From CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS (where no person is at a terminal), CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS,
 * CLAUDE_CODE_COORDINATOR_MODE and the entry point: SDKs do not get the guide. entrypoint may be NULL. */
unsigned builtin_switches_find(const char *entrypoint);

/* Calls fn for each agent that the switches leave, in the order of the table; fn takes the reference. */
void builtin_each(unsigned switches, void (*fn)(void *data, struct agent_definition *d), void *data);

/* The agent that an old or foreign name stands for, or NULL. */
const char *builtin_alias(struct str name);

/* The files of builtin/, which the build turns into constants (scripts/embed.py) */
extern const char builtin_bash[];
bool builtin_is_guide(const struct agent_definition *d); /* it knows what is configured, and may read it */
extern const char builtin_cadre_guide[];
extern const char builtin_explore[];
extern const char builtin_general_purpose[];
extern const char builtin_plan[];
extern const char builtin_statusline_setup[];
extern const char builtin_verification[];
extern const char builtin_worker[];
