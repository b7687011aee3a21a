/* SPDX-License-Identifier: MIT
 * file_history.h - what checkpoint.h has written, read again: which files changed since a mark, and how they were then. */
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
	bool foreign;          /* somebody else has changed it as well */
	struct buf then_bytes; /* owned; empty if it was not there */
	struct buf now_bytes;
};

struct rewind_plan {
	struct rewind_file *files;
	size_t count;
};

/* Lines that are torn or mean nothing to us are passed over. -ERR_NOT_FOUND: nothing was kept. */
int file_history_load(const char *dir, struct file_history *ret_history, struct err *err);
void file_history_release(struct file_history *h);
#define AUTO_HISTORY CLEANUP(file_history_release)

const struct history_mark *file_history_find(const struct file_history *h, const char *uuid); /* NULL: there is none */
/* The last prompt that changed files; NULL: none did. */
const struct history_mark *file_history_latest(const struct file_history *h);

/* Every file that is not as it was at the mark, in the order of the first changes. Nothing is changed. Contents that are gone
 * or damaged are -ERR_IO. */
int rewind_plan_make(const struct file_history *h, const struct history_mark *mark, const char *dir,
		     struct rewind_plan *ret_plan, struct err *err);
void rewind_plan_release(struct rewind_plan *p);
#define AUTO_PLAN CLEANUP(rewind_plan_release)
/* Brings the file back: bytes and mode; one that was not there is removed, directories stay. What is there now is kept by c
 * before. */
int rewind_file_restore(const struct rewind_file *f, struct checkpoint *c, struct err *err);
