/* SPDX-License-Identifier: MIT
 * ignore_tree.h - which ignore rules hold in which directory of a walk, as ripgrep has it:
 *
 *   .rgignore before .ignore before .gitignore before .git/info/exclude before core.excludesFile; of each kind the file
 *   in the nearest directory that says something decides. Files of all parents up to the root of the file system count,
 *   but .gitignore and exclude only inside a repository and not beyond its root.
 *
 * A level is made when its directory is entered and lives as long as the tree, so that several threads share it. */
#pragma once
#include <pthread.h>
#include "lib/match/gitignore.h"

struct ignore_level;

struct ignore_tree {
	struct gitignore global; /* core.excludesFile */
	pthread_mutex_t lock;    /* for the list of levels */
	struct ignore_level *levels;
};

/* What a directory has */
enum ignore_files {
	HAS_GIT = 1 << 0,
	HAS_GITIGNORE = 1 << 1,
	HAS_IGNORE = 1 << 2,
	HAS_RGIGNORE = 1 << 3,
	HAS_UNKNOWN = ~0, /* look for all of them */
};
unsigned ignore_file_bit(const char *name); /* the bit of a directory entry, or 0 */

/* home and config_home ($XDG_CONFIG_HOME) say where the configuration of git is; either may be NULL. */
void ignore_tree_init(struct ignore_tree *tree, const char *home, const char *config_home);
void ignore_tree_release(struct ignore_tree *tree);
/* The level of a directory below `parent`; that of the parent itself when the directory has no rules of its own. */
const struct ignore_level *ignore_tree_enter(struct ignore_tree *tree, const struct ignore_level *parent,
					     const char *dir, unsigned has);
/* The level of all parents of an absolute directory, without the directory itself. May be NULL. */
const struct ignore_level *ignore_tree_parents(struct ignore_tree *tree, const char *dir);
/* path is absolute and lies inside the directory of the level. */
enum ignore_verdict ignore_tree_match(const struct ignore_tree *tree, const struct ignore_level *level, struct str path,
				      bool is_dir);
