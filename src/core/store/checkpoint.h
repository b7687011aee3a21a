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
#include "core/store/file_version.h"
#include "core/store/store.h"

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
