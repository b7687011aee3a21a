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

int agent_release_worktree(struct agent *a, struct err *err);
