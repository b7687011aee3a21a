/* SPDX-License-Identifier: MIT
 * life.h - how every agent comes to life: one table of steps, each with a way up and a way down (docs/internals/agent.md). */
#pragma once
#include "core/store/load.h"
#include "guard/hook/hook.h"
#include "agents/agent/tree.h"
#include "agents/worktree/worktree.h"

struct life_step {
	const char *name;
	int (*up)(struct agent *a, struct err *err);
	int (*down)(struct agent *a, struct err *err); /* NULL: nothing to undo */
};
extern const struct life_step life[];
extern const size_t life_count;

/* All steps of the main agent, up and down; each is done at once. On failure what was up is taken down. What takes time (its
 * servers, skills, start hooks) is part of its first turn. A child is driven through the table by agents/subagent. */
int agent_come_up(struct agent *a, struct err *err);
void agent_go_down(struct agent *a); /* also when it is down */

/* host_question.c: hosts that no list of the sandbox names. */

void host_questions_open(struct agent_tree *t);
void host_questions_close(struct agent_tree *t);

int agent_end_shells(struct agent *a, struct err *err);
int agent_release_worktree(struct agent *a, struct err *err);

/* access.c: what an agent may use, two steps of life[], and the pool of tools that changes with the servers. */

int agent_choose_tools(struct agent *a, struct err *err);
int agent_drop_tools(struct agent *a, struct err *err);
int agent_make_permission(struct agent *a, struct err *err);
/* The pool, and with it the main agent's tools, limits and head, as its servers are now. */
void agent_tree_renew_pool(struct agent_tree *t);

/* worktree_hook.c: a working copy that a WorktreeCreate hook makes, for other version control systems or for none
 *
 * It takes the place of git: only the directory of the copy is known, and only a WorktreeRemove hook removes it. A copy that
 * exists when the agent has ended is reported as kept. */

int worktree_hook_take(struct agent *a, struct err *err);
int worktree_hook_release(struct agent *a, struct err *err);

/* tree_settings.c: limits, switches and directories of a session, from options, settings and environment. */

/* Before the main agent comes up; its cwd and its journal are known. session_id is borrowed. agent_tree_use_policy follows. */
void agent_tree_configure(struct agent_tree *t, const char *session_id, const char *project_dir);
void agent_tree_use_policy(struct agent_tree *t);   /* applies the current settings */
void agent_tree_warn_sandbox(struct agent_tree *t); /* what the kernel cannot enforce, and settings without a meaning */
const char *agent_tree_sandbox_word(
	struct agent_tree *t);                     /* "full", "reduced" or "none"; NULL: the settings want none */
void agent_tree_remove_dirs(struct agent_tree *t); /* removes directories that are not needed any more */

/* The Agent tool as the model sees it: the tool of the room `tools` with the agents that can be called in its
 * description, and without parameters that have no meaning in this run. */

/* base: the tool from the table. Returns the tree's own, good as long as the tree. */
const struct tool *agent_tool_make(struct agent_tree *t, const struct tool *base);
/* The definition of SendMessage where there are teams */
extern const char team_send_text[];
/* An agent with Agent(a, b) in its tools sees only those; nothing for others. */
void agent_tool_limit(struct agent *a);
