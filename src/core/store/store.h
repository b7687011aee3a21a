/* SPDX-License-Identifier: MIT
 * store.h - paths of session files, and appending to them (docs/internals/session.md). */
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
	/* Called after each written line, without its line end; may be NULL. Borrowed until it returns. */
	void (*on_line)(void *data, const char *path, struct str line);
	void *data;
	struct buf line; /* scratch for the line being built: agents need none of their own */

	struct loop *loop;                    /* borrowed */
	bool power;                           /* setting durability "power": fsync each line before it is acted on */
	struct sync_item *queue, **queue_end; /* files of the next group commit */
	struct timer sync_timer;
	struct sync_batch *batch; /* the running group commit; NULL: none */
	struct kick kick;
};

/* Borrows loop until store_release(); NULL: no fsync. */
void store_init(struct store *s, struct loop *loop, const char *config_dir);
/* No session is left: begins the last group commit on a thread of its own, beside what the owner has to free.
 * store_release() waits for it. Cheaper than the start of libuv's pool. */
void store_finish(struct store *s);
/* All journals must be freed. Runs the loop until pending fsyncs are done. */
void store_release(struct store *s);
/* Number of files to keep open for a given descriptor limit. */
size_t store_open_files(size_t descriptor_limit);

/* <config>/projects/<key of cwd>; NAME.jsonl and so on below it. */
char *store_project_dir(struct arena *a, const char *config_dir, const char *cwd);
void store_project_key(struct buf *out, struct str cwd);

/* The first line creates the file. Returns owned. */
struct journal *journal_new(struct store *s, const char *path);
void journal_free(struct journal *j); /* a pending fsync still happens */
const char *journal_path(const struct journal *j);
/* Adds a line end to *line and writes it with one write(2). A short write is undone before the error is reported. */
int journal_append(struct journal *j, struct buf *line, struct err *err);
/* The new file begins with the first bytes of another one: whole lines. The kernel shares or copies them where it can. */
int journal_begin_with(struct journal *j, const char *from, uint64_t bytes, struct err *err);
/* Syncs appended lines to the disk (docs/internals/session.md, "Power cuts"). 1: done. 0: a group commit is running;
 * kick is kicked at its end: call again. kick may be NULL, and the journal may be freed meanwhile. Below 0: an
 * error. */
int journal_sync(struct journal *j, struct kick *kick, struct err *err);
/* The same before a line is acted on: 1 at once unless the store has `power`. j NULL: 1. */
int journal_settle(struct journal *j, struct kick *kick, struct err *err);
