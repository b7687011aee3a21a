/* SPDX-License-Identifier: MIT
 * lock.h - session locks: one process at a time uses a session.
 *
 * All sessions of a project share one file, DIR/sessions.lock; a session is one byte of it, at an offset made from its
 * id, under an open-file-description lock. Such a lock dies with its owner, a runtime with ten thousand sessions needs
 * one descriptor for them, and no session leaves a lock file behind. */
#pragma once
#include "lib/base/map.h"

struct lock_table {
	struct map files; /* directory -> the descriptor of its file, + 1 */
	struct map held;  /* directory/id -> anything: the kernel lock does not exclude its own process */
};

/* Makes missing directories. -ERR_BUSY if another process, or another session of this runtime, holds it. */
int session_lock(struct lock_table *t, const char *dir, const char *id, struct err *err);
void session_unlock(struct lock_table *t, const char *dir, const char *id); /* also when it is not held */
void lock_table_release(struct lock_table *t);
