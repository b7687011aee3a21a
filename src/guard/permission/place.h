/* SPDX-License-Identifier: MIT
 * place.h - a path that a call names, and what is special about it. */
#pragma once
#include "lib/base/arena.h"

/* Both absolute, in the arena. What a link points to counts as much as the link. */
struct place {
	const char *path;   /* as named, without . and .. */
	const char *target; /* links resolved, as far as it exists; NULL: it cannot be (a loop of links) */
};

struct place place_find(struct arena *a, const char *cwd, struct str path);
/* The same, with .. taken after links as the kernel does it: what a shell command opens. */
struct place place_find_raw(struct arena *a, const char *cwd, struct str path);
bool place_is_inside(struct arena *a, const struct place *p,
		     const char *dir); /* both of it; dir may be a link itself */

/* Files that make other programs run something, or say what may run: .git, .claude, .bashrc ... path is absolute. */
bool path_is_protected(const char *path);
/* Paths whose removal is never meant: the root and what is in it, the home directory, the directory where the agent
 * works and those above it. */
bool path_is_critical(const char *path, const char *cwd);
