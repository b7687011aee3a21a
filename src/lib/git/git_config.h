/* SPDX-License-Identifier: MIT
 * git_config.h - may git be believed to run no program? Its configuration in a directory names some. */
#pragma once
#include "lib/base/arena.h"

/* Why git may run something in cwd, for people; NULL: nothing but what those who start it switch off (hooks, fsmonitor, pager:
 * tools/shell/shell_set.c, agents/worktree/worktree_job.c). root: where the session started; NULL: nowhere. trusted: the user trusts
 * that folder, and so its configuration. */
const char *git_config_runs(struct arena *a, const char *cwd, const char *root, bool trusted);
/* Environment for a git of ours: nothing steers it but how to reach a server and where the user's settings are; its output is in
 * English, and it asks nothing. In the arena, with room for `more` entries from *ret_n on; ends with NULL. */
const char **git_environment(struct arena *a, size_t more, size_t *ret_n);
