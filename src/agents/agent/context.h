/* SPDX-License-Identifier: MIT
 * context.h - system prompt, context and request head of an agent. What differs between two runs (directory, date, branch) goes
 * into the first message, never into the system prompt, so that the prompt's prefix stays the same for the cache. */
#pragma once
#include "agents/agent/agent.h"
#include "agents/profile/memory.h"

/* Environment with date and model, CLAUDE.md and the like (collected once for all agents of a tree; files that cannot be read
 * are reported, once), of the main agent its memory and what its servers say: messages of a new conversation and of a compacted one. Returns how
 * many; each owned. */
enum { CONTEXT_BLOCKS = 5 };
size_t context_blocks(struct agent *a, struct segment *ret_blocks[CONTEXT_BLOCKS]);

/* The step of life[]: the prompt of its definition with the rules of a child and its memory. */
int agent_make_prompt(struct agent *a, struct err *err);
bool agent_memory_dirs(const struct agent *a, struct memory_dirs *ret_places); /* true: it has a memory */
/* The usual prompt of a main agent */
extern const char system_prompt_text[];
/* The prompt of a main agent that coordinates workers */
extern const char coordinator_text[];
/* The rules of a member of a team, behind the usual prompt */
extern const char team_rules_text[];
/* The rules of a child's life, behind its own prompt. */
extern const char subagent_rules_text[];
/* Interns the head of an agent's requests from its model and tools. Returns a reference. */
struct head *context_head(struct agent *a, struct str system, const char *effort);
/* The same with the system prompt and the effort of a head that it had before. */
struct head *context_head_like(struct agent *a, const struct head *before);
/* The head that it begins with. A copy has its origin's, to the byte, unless it had loaded tools of its own before it was resumed;
 * a resumed origin that has not asked yet has the one that it will ask with. Returns a reference. */
struct head *agent_first_head(struct agent *a);
void agent_renew_head(
	struct agent *a); /* of the main agent: prompt, model or tools have changed, from the next request on */

/* Which tools its requests carry (core/tool/deferral.h, docs/internals/tool_search.md). The set of its tools has all of
 * them, so that rules, forks and children see no difference; deferred ones are only left out of the head. */

/* Its tools, its model or its rules are new: decides whether tools are deferred. Before its head is made. */
void agent_defer_tools(struct agent *a);
void agent_load_tools(struct agent *a); /* tools that its calls asked for join the head of its next request */

/* compact.c: its part in the compaction of its conversation (docs/internals/compact.md) */
extern const struct compact_owner agent_compact_owner; /* of queries whose data is the agent */
