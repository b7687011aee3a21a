/* SPDX-License-Identifier: MIT
 * dir_lock.h - a lock that is a directory F.lock, as other programs make it for a file F: the maker has the lock, its time says
 * since when, and one that is older than 10 s was left by a dead process. Blocking: only on a thread, or for moments. */
#pragma once
#include <time.h>
#include "lib/base/base.h"

/* A zeroed struct holds nothing. */
struct dir_lock {
	char *path; /* owned; NULL: not held */
	struct timespec made;
};

/* Tries for wait_ms; *stop true ends it earlier (may be NULL). -ERR_BUSY: another process has it. */
int dir_lock_take(struct dir_lock *l, const char *path, unsigned wait_ms, const volatile bool *stop, struct err *err);
bool dir_lock_is_ours(const struct dir_lock *l); /* not taken over since */
void dir_lock_leave(struct dir_lock *l);         /* also of one that is not held */
