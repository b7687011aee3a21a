/* SPDX-License-Identifier: MIT
 * access.h - what an agent may use: two steps of life[], and the pool of tools that changes with the servers. */
#pragma once
#include "agents/agent/tree.h"

int agent_choose_tools(struct agent *a, struct err *err);
int agent_drop_tools(struct agent *a, struct err *err);
int agent_make_permission(struct agent *a, struct err *err);
/* The pool, and with it the main agent's tools, limits and head, as its servers are now. */
void agent_tree_renew_pool(struct agent_tree *t);
