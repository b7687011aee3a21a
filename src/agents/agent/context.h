/* SPDX-License-Identifier: MIT
 * context.h - what an agent knows before its first prompt. Whatever differs between two runs (directory, date, branch) goes
 * into the first message, never into the system prompt, so that the prompt's prefix stays the same for the cache. */
#pragma once
#include "agents/agent/agent.h"

/* Environment, date, model of this agent, as a system reminder. */
void context_environment(struct buf *out, struct agent *a);
/* CLAUDE.md and the like, collected once for all agents of a tree: a reference, or NULL. managed_only: what nobody may
 * leave out. Files that cannot be read are told by an event, once. */
struct segment *context_instructions(struct agent_tree *t, bool managed_only);
/* The rules of a child's life, behind its own prompt. */
extern const char subagent_rules_text[];
/* Interns the head of an agent's requests from its model and tools. Returns a reference. */
struct head *context_head(struct agent *a, struct str system, const char *effort);
/* The same with the system prompt and the effort of a head that it had before. */
struct head *context_head_like(struct agent *a, const struct head *before);
