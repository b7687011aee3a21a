/* SPDX-License-Identifier: MIT
 * skill_wake.h - skills that an agent gets by what it works on: those of a directory below its working directory that has
 * .claude/skills of its own, and those with `paths`. They sleep until the agent reads, writes or searches there; then its
 * model is told of them. Each agent wakes its own; a fork has what its parent had. */
#pragma once
#include "defs/skill/registry.h"
#include "agents/agent/agent.h"

struct skill_wake; /* what an agent has touched; owned by it, NULL: nothing */

/* The call has run well. What it wakes is told with the next request. */
void agent_touch(struct agent *a, const struct tool_call *call);
/* A file that the agent had seen in an earlier process: nothing is told, because the list will be. */
void agent_recall_touch(struct agent *a, const char *path);
/* Not for its model, by now. */
bool agent_skill_sleeps(const struct agent *a, const struct catalog_entry *e);
void skill_wake_free(struct skill_wake *w);
