/* SPDX-License-Identifier: MIT
 * tree_stage.h - a tree of agents that never runs: a session directory, agent files, and calls that are answered. */
#pragma once
#include "unit.h"
#include "agents/agent/tree.h"

struct tree_stage {
	char dir[FOLDER_MAX]; /* everything of the test is below it */
	struct arena arena;
	struct services services;
	struct agent_tree tree; /* registry: the built-in agents and those of dir/project/.claude/agents */
	struct tool_env env;
	struct tool_gate gate;
};

void tree_stage_init(struct tree_stage *st);
void tree_stage_release(struct tree_stage *st);
void tree_stage_reopen(struct tree_stage *st); /* another tree on the same files, as in another process */
char *tree_stage_path(struct tree_stage *st, const char *name); /* in the arena */
void tree_stage_put(struct tree_stage *st, const char *name, struct str text);
void tree_stage_load_agents(struct tree_stage *st);
/* A child with every text that must be there. */
struct agent_record *tree_stage_task(struct tree_stage *st, const char *id);
struct tool_call *tree_stage_call(struct tree_stage *st); /* not started; returns owned */

#define TASK_1 "a0000000000000001"
#define TASK_2 "a0000000000000002"
