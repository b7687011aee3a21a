/* SPDX-License-Identifier: MIT
 * store.h - where sessions are on disk, and appending to their files (docs/internals/session.md). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

enum { STORE_OPEN_FILES = 256 };

struct journal; /* one append-only file of lines */

struct store {
	char *config_dir;                /* owned */
	struct journal *newest, *oldest; /* journals with an open descriptor, by last use */
	size_t open_count;
	/* Hears of each line once it is written, without its line end; NULL: nobody does. Borrowed until it returns. */
	void (*on_line)(void *data, const char *path, struct str line);
	void *data;
	struct buf line; /* scratch for the line being built: agents need none of their own */
};

void store_init(struct store *s, const char *config_dir);
void store_release(struct store *s); /* all journals must be gone */

/* <config>/projects/<key of cwd>; NAME.jsonl and so on below it. */
char *store_project_dir(struct arena *a, const char *config_dir, const char *cwd);
void store_project_key(struct buf *out, struct str cwd);

/* The file is made with the first line. Returns owned. */
struct journal *journal_new(struct store *s, const char *path);
void journal_free(struct journal *j);
const char *journal_path(const struct journal *j);
/* Adds a line end to *line and writes it with one write(2). A short write is taken back before the error is reported. */
int journal_append(struct journal *j, struct buf *line, struct err *err);
int journal_sync(struct journal *j, struct err *err); /* fsync */
