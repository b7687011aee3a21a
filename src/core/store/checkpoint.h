/* SPDX-License-Identifier: MIT
 * checkpoint.h - keeps files as they are before the agents of a session change them (docs/internals/checkpoint.md).
 *
 *     <config>/file-history/<session>/history.jsonl    marks and changes, one JSON object a line, append-only
 *     <config>/file-history/<session>/<sha256>         contents, each of them once
 *
 *     {"type":"mark","uuid":..,"time":..}                                  a prompt, by the id of its line
 *     {"type":"mark","uuid":..,"time":..,"rewindTo":..}                    files are about to go back to another mark
 *     {"type":"change","path":..,"time":..,"before":V,"after":V}           V: null (no file) or {"sha256":..,"mode":..}
 *
 * A change belongs to the last mark above it. file_history.h reads this. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "core/store/store.h"

enum { FILE_VERSION_LIMIT = 64 * 1024 * 1024 };

/* The state of a file at one time: existence, content, mode */
struct file_version {
	bool exists;
	char sha256[SHA256_DIGITS + 1]; /* of the bytes, in lower case; "": no file */
	unsigned mode;                  /* permission bits; 0: not known */
};

struct file_version file_version_of(struct str bytes); /* of a file that is to be written */
/* Reads it below a trusted directory (lib/io/file_at.h); appends its bytes to *bytes. A missing file is not an error.
 * -ERR_USAGE: not a regular file; -ERR_LIMIT: too large. */
int file_version_read(const char *root, const char *below, struct file_version *ret_version, struct buf *bytes,
		      struct err *err);
/* ignores the mode */
static inline bool file_version_same(const struct file_version *a, const struct file_version *b)
{
	return a->exists == b->exists && !strcmp(a->sha256, b->sha256);
}

struct checkpoint;

char *checkpoint_dir(struct arena *a, const char *config_dir, const char *session_id);
char *checkpoint_history_path(struct arena *a, const char *dir);
char *checkpoint_content_path(struct arena *a, const char *dir, const struct file_version *v);

/* Creates no file before the first mark. Borrows the store, copies dir. Returns owned. */
struct checkpoint *checkpoint_new(struct store *store, const char *dir);
void checkpoint_free(struct checkpoint *c);
/* rewind_to: NULL for a prompt. */
int checkpoint_mark(struct checkpoint *c, const char *uuid, const char *rewind_to, struct err *err);
/* The file at path (without symlinks) is about to become `after` (its mode is ignored). On return its present content
 * is stored and the change is recorded. An unchanged file is not recorded. */
int checkpoint_change(struct checkpoint *c, const char *path, const struct file_version *after, struct err *err);
