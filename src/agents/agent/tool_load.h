/* SPDX-License-Identifier: MIT
 * tool_load.h - which tools an agent's requests carry, where there are many (core/tool/deferral.h, docs/internals/tool_search.md).
 *
 * The set of its tools has all of them, so that rules, forks and children see no difference; what waits is only left out of the
 * head. */
#pragma once
#include "core/store/load.h"
#include "agents/agent/actor.h"

/* Its tools, its model or its rules are new: decides whether those that may wait do. Before its head is made. */
void actor_defer_tools(struct actor *a);
/* The same for a fork, whose head is its parent's: what waits there waits here. */
void actor_defer_like(struct actor *a, const struct actor *parent);
/* What it had loaded before the program ended; before the above. */
void actor_recall_tools(struct actor *a, const struct session_load *load);
/* What its calls have asked for joins the head of its next request. */
void actor_load_tools(struct actor *a);
/* Definitions for a head, NULL-terminated; the array and what is new in it are in the arena. */
const char **actor_definitions(const struct actor *a, struct arena *arena);
