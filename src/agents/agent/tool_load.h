/* SPDX-License-Identifier: MIT
 * tool_load.h - which tools an agent's requests carry, where there are many (core/tool/deferral.h, docs/internals/tool_search.md).
 *
 * The set of its tools has all of them, so that rules, forks and children see no difference; what waits is only left out of the
 * head. */
#pragma once
#include "core/store/load.h"
#include "agents/agent/agent.h"

/* Its tools, its model or its rules are new: decides whether those that may wait do. Before its head is made. */
void agent_defer_tools(struct agent *a);
/* The same for a fork, whose head is its parent's: what waits there waits here. */
void agent_defer_like(struct agent *a, const struct agent *parent);
/* What it had loaded before the program ended; before the above. */
void agent_recall_tools(struct agent *a, const struct session_load *load);
/* What its calls have asked for joins the head of its next request. */
void agent_load_tools(struct agent *a);
/* Definitions for a head, NULL-terminated; the array and what is new in it are in the arena. */
const char **agent_definitions(const struct agent *a, struct arena *arena);
