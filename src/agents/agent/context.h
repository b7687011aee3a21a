/* SPDX-License-Identifier: MIT
 * context.h - system prompt, context and request head of an agent. What differs between two runs (directory, date, branch) goes
 * into the first message, never into the system prompt, so that the prompt's prefix stays the same for the cache. */
#pragma once
#include "agents/agent/agent.h"
#include "agents/profile/memory.h"
#include "agents/agent/tree.h"

/* Environment with date and model, CLAUDE.md and the like (collected once for all agents of a tree; files that cannot be read
 * are reported, once), of the main agent its memory and what its servers say: messages of a new conversation and of a compacted one. Returns how
 * many; each owned. */
enum { CONTEXT_BLOCKS = 5 };
size_t context_blocks(struct agent *a, struct segment *ret_blocks[CONTEXT_BLOCKS]);
/* Instructions that belong to a file below the working directory come with the next request, once. restored: they are in the
 * conversation already. */
void agent_add_path_instructions(struct agent *a, const char *path, bool restored);

/* The step of life[]: the prompt of its definition with the rules of a child and its memory. */
int agent_make_prompt(struct agent *a, struct err *err);
bool agent_memory_dirs(const struct agent *a, struct memory_dirs *ret_dirs); /* true: it has a memory */
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

/* The messages of an agent before its first request, and the texts that turn its parent's conversation
 * into that of a child. All forks of one answer get the same bytes up to their directive, which is what the server's prompt cache needs. */
#define FORK_TYPE "fork"
#define FORK_TAG  "<fork-boilerplate>"

extern const char fork_placeholder_text[];
struct segment *fork_placeholder(const char *call_id); /* the result of an open call, as every fork sees it */
/* The message behind the history: what a fork is, and its task. */
void fork_directive(struct buf *out, struct str task);
/* For a child that has its parent's history but works in another directory. */
void fork_worktree_notice(struct buf *out, const char *parent_cwd, const char *worktree);
/* The history has the directive of a fork: its agent is one. */
bool fork_is_marked(const struct transcript *t);

/* The first step of life[]: reads the transcript of a child that continues. */
int agent_load(struct agent *a, struct err *err);
/* The step of life[]: the stored conversation of one that continues, or its origin's. */
int agent_find_history(struct agent *a, struct err *err);
int agent_record_origin(struct agent *a, struct err *err); /* of a fork, before its first message; once */
/* The context of a new conversation: environment, instructions, servers, skills that it has from birth. */
int agent_add_context(struct agent *a, struct err *err);
int agent_add_skills(struct agent *a, struct err *err); /* those that it can use, if the model does not know of them */
int child_initial_messages(struct agent *a, struct err *err); /* on disk when it returns */
int agent_remind(struct agent *a, struct str text, struct err *err);
void agent_last_text(struct buf *out, const struct transcript *t); /* that the model said; nothing if it did not */

/* Restores the rest of a stored transcript: notices that no request has carried yet (not of a fork, whose origin has them),
 * files that it has seen, and open calls. run: calls without a result are started again. */
int agent_restore(struct agent *a, bool run, struct err *err);
/* Of one that has not begun: this becomes a part of its task, or of the message that continues it. On disk on return. */
int agent_extend_task(struct agent *a, const char *id, struct str text, struct err *err);
void agent_drop_load(struct agent *a);
