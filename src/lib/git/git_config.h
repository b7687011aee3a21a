/* SPDX-License-Identifier: MIT
 * git_config.h - may git be believed to run no program? Its configuration in a directory names some. */
#pragma once
#include "lib/base/arena.h"

/* Why git may run something in cwd, for people; NULL: nothing but what those who start it switch off (hooks, fsmonitor, pager:
 * tools/shell/shell_set.c, agents/worktree/worktree_job.c). root: where the session started; NULL: nowhere. trusted: the user trusts
 * that folder, and so its configuration. */
const char *git_config_runs(struct arena *a, const char *cwd, const char *root, bool trusted);
