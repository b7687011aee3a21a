/* SPDX-License-Identifier: MIT
 * git_head.h - reads facts about a repository without running git, because the start must not wait for a process. */
#pragma once
#include "lib/base/arena.h"

/* The nearest directory at or above dir that holds .git; NULL: not a repository. One of a stranger does not count: it must be the
 * user's, root's, or of the owner of dir. */
char *git_find_root(struct arena *a, const char *dir, bool anyones);
static inline char *git_root(struct arena *a, const char *dir)
{
	return git_find_root(a, dir, false);
}
static inline char *git_root_of_anyone(struct arena *a, const char *dir) /* what git may take for it (safe.directory) */
{
	return git_find_root(a, dir, true);
}
/* In a linked worktree .git is a file that names a directory in the main checkout's .git, which points back: returns
 * the root of that main checkout. NULL: root is not a linked worktree. */
char *git_main_checkout(struct arena *a, const char *root);
/* The git directory of this checkout: root/.git, or the target of a file of that name. */
char *git_dir(struct arena *a, const char *root);
/* The same, if the directory says itself that it is of this checkout: .git of a stranger may be a link or name any directory. NULL: it
 * does not. */
char *git_own_dir(struct arena *a, const char *root);
/* The branch that HEAD names, a short commit id when it is detached, "" if it cannot be read. */
char *git_branch(struct arena *a, const char *root);
/* Whether a file is tracked. path is relative to root, a directory that holds .git. Also true if unknown: the index exists
 * but cannot be parsed completely. */
bool git_tracks(const char *root, const char *path);
