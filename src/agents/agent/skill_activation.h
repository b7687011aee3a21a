/* SPDX-License-Identifier: MIT
 * skill_activation.h - skills that an agent gets by the files it works on: those of a directory below its working directory that has
 * .claude/skills of its own, and those with `paths`. They stay inactive until a tool of the agent touches a matching path;
 * then its model gets their descriptions. Each agent activates its own; a fork has those of its parent. */
#pragma once
#include "defs/skill/registry.h"
#include "agents/agent/agent.h"

struct skill_activation; /* directories and skills that an agent has touched; owned by it, NULL: none */

/* The call has succeeded. The next request lists the skills that it activates. */
void agent_touch(struct agent *a, const struct tool_call *call);
/* A file that the agent touched in an earlier process: the next list of skills has its skills. */
void agent_recall_touch(struct agent *a, const char *path);
bool agent_skill_inactive(const struct agent *a, const struct catalog_entry *e);
void skill_activation_free(struct skill_activation *w);
