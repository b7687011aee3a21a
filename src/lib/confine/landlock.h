/* SPDX-License-Identifier: MIT
 * landlock.h - limits the paths that a child process may write to, and if wanted those that it may read. The kernel
 * enforces it (landlock_fd in lib/io/spawn.h) for the child and its descendants. */
#pragma once
#include "lib/base/base.h"

/* Borrowed until return; both lists end with NULL or are NULL. Every path must exist. */
struct landlock_rules {
	const char *const *dirs;  /* everything below them: write, create, remove, rename between them */
	const char *const *files; /* these files alone: write and truncate in place */
	/* NULL: reading and running are free. Else only below these, which need not exist, and below dirs and files. */
	const char *const *reads;
	size_t linked_reads; /* so many of them may be links; with resolved */
	/* All others have no links in their paths, but for descriptors (/proc/self/fd/N): one that is there is refused, of reads
	 * skipped. */
	bool resolved;
	bool alone; /* no signals to processes outside, no abstract sockets there (where the kernel can: 6.12) */
};

/* Returns a descriptor above 0 that the caller closes; -ERR_LIMIT where the kernel cannot enforce writes. Kernels
 * before 6.2 cannot restrict truncation, so they count as kernels without Landlock. */
int landlock_new(const struct landlock_rules *rules, struct err *err);
bool landlock_available(void);
bool landlock_keeps_signals(void); /* .alone holds them back */
