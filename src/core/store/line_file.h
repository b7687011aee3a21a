/* SPDX-License-Identifier: MIT
 * line_file.h - reads a file line by line, and single lines again by their offset. Only a piece of it is in memory: a
 * transcript may be much larger than the conversation left after compaction. */
#pragma once
#include "lib/base/buf.h"

struct line_span {
	uint64_t at;
	size_t len; /* without its end */
};

struct line_file {
	int fd;
	bool is_open;
	struct buf piece; /* what was read of the file, from `from` on */
	uint64_t from;
	uint64_t passed; /* bytes that were read in order: a named pipe has no others */
	uint64_t at;     /* of the next line */
	bool torn;       /* no line end: the last line */
};

int line_file_open(struct line_file *f, const char *path, struct err *err); /* -ERR_NOT_FOUND */
void line_file_close(struct line_file *f);
/* 1 and the next line without its end, valid until the next call; 0: end of file. */
int line_file_next(struct line_file *f, struct str *ret_line, struct line_span *ret_span, struct err *err);
/* An earlier line, valid until the next call of either. */
int line_file_again(struct line_file *f, struct line_span span, struct str *ret_line, struct err *err);
