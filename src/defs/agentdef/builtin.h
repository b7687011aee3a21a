/* SPDX-License-Identifier: MIT
 * builtin.h - the agents that come with the program: .md files in builtin/, compiled in, read like anybody's.
 *
 * To add one: 1. builtin/NAME.md; 2. its row in builtin.c and its name in the list of meson.build; 3. a row in
 * tests/unit/agent/test_builtin.c. */
#pragma once
#include "defs/agentdef/definition.h"

struct builtin_switches {
	bool none; /* no built-in agent at all */
	bool no_explore_plan;
	bool no_guide;
	bool coordinator; /* `worker` alone, in place of all others */
};

/* From CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS (where no person is at a terminal), CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS,
 * CLAUDE_CODE_COORDINATOR_MODE and the entry point: SDKs do not get the guide. entrypoint may be NULL. */
struct builtin_switches builtin_switches_find(const char *entrypoint);

/* Calls fn for each agent that the switches leave, in the order of the table; fn takes the reference. */
void builtin_each(const struct builtin_switches *switches, void (*fn)(void *data, struct agent_definition *d),
		  void *data);

/* The agent that an old or foreign name stands for, or NULL. */
const char *builtin_alias(struct str name);
