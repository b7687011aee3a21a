/* SPDX-License-Identifier: MIT
 * git_head.h - what can be known about a repository without running git: a start must not wait for a process. */
#pragma once
#include "lib/base/arena.h"

/* The nearest directory at or above dir that holds .git; NULL: not a repository. */
char *git_root(struct arena *a, const char *dir);
/* In a linked worktree .git is a file that names a directory in the main checkout's .git, which names it back: the root of
 * that main checkout. NULL: root is no linked worktree. */
char *git_main_checkout(struct arena *a, const char *root);
/* Where HEAD and the index of this checkout are: root/.git, or what a file of that name says. */
char *git_dir(struct arena *a, const char *root);
/* The branch that HEAD names, a short commit id when it is detached, "" if it cannot be read. */
char *git_branch(struct arena *a, const char *root);
