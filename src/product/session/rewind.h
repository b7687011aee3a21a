/* SPDX-License-Identifier: MIT
 * rewind.h - restores files as they were when a message came (docs/internals/checkpoint.md). */
#pragma once
#include "product/session/session.h"
#include "core/store/file_history.h"

/* One way back, from the look to its end */
struct rewind {
	struct file_history history;
	const struct history_mark *mark; /* of the history */
	struct rewind_plan plan;
	size_t added, removed;   /* lines, in all files */
	size_t foreign;          /* files that others have changed */
	char undo[UUID_LEN + 1]; /* mark that leads back again; "" before rewind_go */
};

/* dir: checkpoint_dir(). uuid: NULL for the last prompt that changed files. Nothing is changed. -ERR_NOT_FOUND: there is no
 * such mark, or nothing was kept. */
int rewind_look(struct rewind *r, const char *dir, const char *uuid, struct err *err);
int rewind_go(struct rewind *r, struct checkpoint *c, struct err *err); /* what is lost is kept by c before */
static inline void rewind_release(struct rewind *r)
{
	rewind_plan_release(&r->plan);
	file_history_release(&r->history);
}
#define AUTO_REWIND CLEANUP(rewind_release)
void rewind_count_lines(const struct rewind_file *f, size_t *ret_added, size_t *ret_removed);
