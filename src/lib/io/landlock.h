/* SPDX-License-Identifier: MIT
 * landlock.h - a set of places that a child process may write to; reading and running stay free everywhere. The kernel
 * enforces it (spawn.h, landlock_fd) for the child and for all it starts, and nothing can widen it later. */
#pragma once
#include "lib/base/base.h"

/* Borrowed until return; both lists end with NULL or are NULL. Every path must exist. */
struct landlock_rules {
	const char *const *dirs;  /* everything below them: write, make, remove, rename between them */
	const char *const *files; /* these files alone: write and truncate in place */
};

/* Returns a descriptor above 0 that the caller closes; -ERR_LIMIT where the kernel cannot enforce writes. Truncation by
 * path is part of writing: a kernel that cannot stop it (before 6.2) counts as one that has no Landlock. */
int landlock_new(const struct landlock_rules *rules, struct err *err);
bool landlock_available(void);
