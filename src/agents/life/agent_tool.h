/* SPDX-License-Identifier: MIT
 * agent_tool.h - the Agent tool as the model sees it: the tool of the room `tools` with whom one can call in its
 * description, and without parameters that have no meaning in this run. */
#pragma once
#include "agents/agent/tree.h"

/* base: the tool from the table. Returns the tree's own, good as long as the tree. */
const struct tool *agent_tool_make(struct agent_tree *t, const struct tool *base);
/* The definition of SendMessage where there are teams */
extern const char team_send_text[];
/* An agent with Agent(a, b) in its tools sees only those; nothing for others. */
void agent_tool_limit(struct agent *a);
/* Whom one can call may have changed: another definition in place of the old one. */
void agent_tool_renew(struct agent_tree *t);
