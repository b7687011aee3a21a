/* SPDX-License-Identifier: MIT
 * tree_settings.h - what the agents of a session share, from options, settings and environment: limits, switches, places. */
#pragma once
#include "agents/agent/tree.h"

/* Before the main agent comes up; its cwd and its journal are known. session_id is borrowed. agent_tree_use_policy follows. */
void agent_tree_configure(struct agent_tree *t, const char *session_id, const char *project_dir);
void agent_tree_use_policy(struct agent_tree *t);   /* what the settings say now */
void agent_tree_warn_sandbox(struct agent_tree *t); /* what the kernel cannot enforce, and what settings cannot mean */
void agent_tree_leave_places(struct agent_tree *t); /* directories that are not needed any more */
