/* SPDX-License-Identifier: MIT
 * change_queue.h - changes of files behind a lock that another process may hold (docs/internals/locks.md). A change is made at
 * once if the lock is free. If not, it is made later, on libuv's pool, which waits for the lock; changes that come meanwhile
 * queue behind it. So the loop never waits, and changes are made in their order. */
#pragma once
#include "lib/io/loop.h"

/* The first member of the owner's own struct: a copy of all that the change needs. */
struct file_change {
	struct file_change *next;
	/* On the loop, or in a worker thread: makes it. wait_ms: how long it may wait for the lock; -ERR_BUSY: it is still held. */
	int (*make)(struct file_change *change, unsigned wait_ms, struct err *err);
	/* From the loop, once, and frees it. later: change_queue_make() has returned already. err->kind 0: it was made. */
	void (*done)(struct file_change *change, bool later, const struct err *err);
};

/* A zeroed queue with a loop is empty and usable. */
struct change_queue {
	struct loop *loop; /* borrowed */
	struct file_change *first, **last;
	bool at_work; /* the first one is in a worker's hands */
	uv_work_t work;
	int status;
	struct err err;
};

enum { CHANGE_LATER = 1 };
/* Takes the change. CHANGE_LATER: it waits; otherwise it was made or has failed, and is gone. */
int change_queue_make(struct change_queue *q, struct file_change *change, struct err *err);
void change_queue_drain(struct change_queue *q); /* runs the loop until all changes were made or have failed */
