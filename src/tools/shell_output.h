/* SPDX-License-Identifier: MIT
 * shell_output.h - what a command printed, however much it was: the beginning and the end in memory, all of
 * it in a file as soon as it is more than fits. */
#pragma once
#include "lib/base/buf.h"

enum { SHELL_TAIL_BYTES = 20000 };

struct shell_output {
	struct buf head; /* the first keep_bytes */
	struct buf tail; /* when there is more: the last SHELL_TAIL_BYTES, or all that is not in head */
	size_t keep_bytes;
	uint64_t total;
	char *spill_path; /* where it goes when keep_bytes are not enough; may be NULL */
	char *path;       /* of the file it is in, or NULL */
	int fd;
	struct err err; /* text is not empty: why the file is not there or not complete */
};

void shell_output_init(struct shell_output *o, size_t keep_bytes, const char *spill_path); /* copies the path */
void shell_output_add(struct shell_output *o, const char *p, size_t n);
/* What came so far and all that will come goes to this file, with its missing directories, unless there is
 * one already. */
int shell_output_save(struct shell_output *o, const char *path, struct err *err);
/* The last n bytes at most, borrowed until the next add; begins with a whole character. */
struct str shell_output_end(const struct shell_output *o, size_t n);
void shell_output_release(struct shell_output *o); /* the file stays */
