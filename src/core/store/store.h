/* SPDX-License-Identifier: MIT
 * store.h - where sessions are on disk, and appending to their files (docs/internals/session.md). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/io/loop.h"

enum { STORE_OPEN_FILES = 256, STORE_MOST_OPEN_FILES = 4096 };

struct journal; /* one append-only file of lines */

struct store {
	char *config_dir;                /* owned */
	struct journal *newest, *oldest; /* journals with an open descriptor, by last use */
	size_t open_count;
	size_t most_open; /* STORE_OPEN_FILES unless set */
	/* Hears of each line once it is written, without its line end; NULL: nobody does. Borrowed until it returns. */
	void (*on_line)(void *data, const char *path, struct str line);
	void *data;
	struct buf line; /* scratch for the line being built: agents need none of their own */

	struct loop *loop; /* borrowed */
	bool power; /* the setting durability is "power": each line is forced to the disk before it is acted on */
	struct sync_item *queue, **queue_end; /* files that the next group commit forces to the disk */
	struct sync_batch *batch;             /* the group commit that runs; NULL: none */
	struct kick kick;
};

/* Borrows loop until store_release(); NULL: nothing is ever forced to the disk. */
void store_init(struct store *s, struct loop *loop, const char *config_dir);
/* All journals must be gone. Runs the loop until what they asked for is forced to the disk. */
void store_release(struct store *s);
/* How many files to keep open where a process may open so many descriptors. */
size_t store_open_files(size_t descriptor_limit);

/* <config>/projects/<key of cwd>; NAME.jsonl and so on below it. */
char *store_project_dir(struct arena *a, const char *config_dir, const char *cwd);
void store_project_key(struct buf *out, struct str cwd);

/* The file is made with the first line. Returns owned. */
struct journal *journal_new(struct store *s, const char *path);
void journal_free(struct journal *j); /* what it asked for is forced to the disk all the same */
const char *journal_path(const struct journal *j);
/* Adds a line end to *line and writes it with one write(2). A short write is taken back before the error is reported. */
int journal_append(struct journal *j, struct buf *line, struct err *err);
/* Forces what was appended to the disk (docs/internals/session.md, "Power cuts"). 1: it is there. 0: a thread is at it, together with
 * all other files that wait; kick is kicked when it has ended: ask again. kick may be NULL, and the journal may be freed
 * meanwhile. Below 0: it cannot be done. */
int journal_sync(struct journal *j, struct kick *kick, struct err *err);
/* The same before a line is acted on: 1 at once unless the store has `power`. j NULL: 1. */
int journal_settle(struct journal *j, struct kick *kick, struct err *err);
