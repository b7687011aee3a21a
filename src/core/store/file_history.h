/* SPDX-License-Identifier: MIT
 * file_history.h - reads the file history of checkpoint.h: which files changed since a mark, and their content then. */
#pragma once
#include "lib/base/id.h"
#include "core/store/checkpoint.h"

struct history_mark {
	char uuid[UUID_LEN + 1];
	const char *time;
	bool is_rewind;
	size_t first_change; /* of those behind it */
	size_t files;        /* that changed before the next mark */
};

struct history_change {
	const char *path;
	struct file_version before, after;
};

struct file_history {
	struct arena arena;
	struct history_mark *marks;
	size_t mark_count;
	struct history_change *changes;
	size_t change_count;
};

/* A file that changed since a mark */
struct rewind_file {
	const char *path;         /* borrowed from the history */
	struct file_version then; /* at the mark */
	struct file_version now;
	bool foreign;          /* another program has changed it too */
	struct buf then_bytes; /* owned; empty if it did not exist */
	struct buf now_bytes;
};

struct rewind_plan {
	struct rewind_file *files;
	size_t count;
};

/* Skips torn and unknown lines. -ERR_NOT_FOUND: no history. */
int file_history_load(const char *dir, struct file_history *ret_history, struct err *err);
void file_history_release(struct file_history *h);
#define AUTO_HISTORY CLEANUP(file_history_release)

const struct history_mark *file_history_find(const struct file_history *h, const char *uuid); /* NULL: there is none */
/* The last prompt that changed files; NULL: none. */
const struct history_mark *file_history_latest(const struct file_history *h);

/* Lists every file that differs from its state at the mark, in the order of the first changes. Missing or damaged
 * contents are -ERR_IO. */
int rewind_plan_make(const struct file_history *h, const struct history_mark *mark, const char *dir,
		     struct rewind_plan *ret_plan, struct err *err);
void rewind_plan_release(struct rewind_plan *p);
#define AUTO_PLAN CLEANUP(rewind_plan_release)
/* Restores bytes and mode of the file, or removes it if it did not exist; directories stay. c stores the present
 * content first. */
int rewind_file_restore(const struct rewind_file *f, struct checkpoint *c, struct err *err);
