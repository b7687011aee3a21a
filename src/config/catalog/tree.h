/* SPDX-License-Identifier: MIT
 * tree.h - the .md files below a directory, in the order of their names, files before the directories beside them. Names
 * that begin with a dot are left out. Links are followed, each directory is entered once, 16 levels deep at most. */
#pragma once
#include "lib/base/arena.h"

struct tree_file {
	int dir;          /* descriptor of its directory, open until the callback returns */
	const char *name; /* below that directory */
	const char *path;
	const char *below; /* the directories between the root and the file, joined by ':'; "" at the root */
};

struct tree_walk {
	void (*on_file)(void *data, const struct tree_file *file);
	void (*on_problem)(void *data, const char *path, const char *message);
	void *data;
	const char *inside; /* real path that no link may leave; NULL: anywhere */
	const char *leaf;   /* only the file of this name in each directory right below the root; NULL: all of them */
	bool flat;          /* no directories */
	size_t limit;       /* of files; 0: 100,000 */
};

/* A root that is not there is empty. Texts given to the callbacks are borrowed until they return. */
void tree_walk(const struct tree_walk *walk, const char *root);
const char *tree_stem(struct arena *a, const char *path); /* NAME of DIR/NAME.md; in the arena */
/* Whether path, with all links resolved, is inside the real path dir. */
bool tree_is_inside(const char *path, const char *dir);
