/* SPDX-License-Identifier: MIT
 * task.h - what the tools that speak of tasks have in common. */
#pragma once
#include "agents/subagent/subagent.h"
#include "tools/shell/shell_set.h"

/* Adds the names of agents that can be spoken of: "Running agents: bob, a0123...". Nothing if there are none. */
void task_add_running(struct buf *out, const struct agent_tree *t);
