/* SPDX-License-Identifier: MIT
 * worktree_hook.h - a working copy that a WorktreeCreate hook makes, for other version systems or for none. It takes the
 * place of git: nothing is known of the copy but its directory, and only a WorktreeRemove hook takes it away. What is
 * there when the agent has ended is reported as kept. */
#pragma once
#include "agents/life/life.h"

bool worktree_hook_is_there(struct agent *a); /* otherwise git has to do it */
/* Steps, as in life.c */
int worktree_hook_take(struct agent *a, struct err *err);
int worktree_hook_release(struct agent *a, struct err *err);
/* A ruleset for its processes: they write in the copy and in temp_dir. */
int worktree_hook_landlock(const struct worktree *w, const char *temp_dir, struct err *err);
