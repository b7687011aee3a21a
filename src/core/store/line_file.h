/* SPDX-License-Identifier: MIT
 * line_file.h - reads a file line by line, and single lines again by their offset. Only one line is in memory: a
 * transcript may be much larger than the conversation left after compaction. */
#pragma once
#include <stdio.h>
#include "lib/base/buf.h"

struct line_place {
	uint64_t at;
	size_t len; /* without its end */
};

struct line_file {
	FILE *file;
	char *text; /* of the last line that was read; owned */
	size_t cap;
	uint64_t at; /* behind that line */
	bool torn;   /* no line end: the last line */
};

int line_file_open(struct line_file *f, const char *path, struct err *err); /* -ERR_NOT_FOUND */
void line_file_close(struct line_file *f);
/* 1 and the next line without its end, valid until the next call; 0: end of file. */
int line_file_next(struct line_file *f, struct str *ret_line, struct line_place *ret_place, struct err *err);
/* Reads an earlier line again, replacing *out. */
int line_file_again(struct line_file *f, struct line_place place, struct buf *out, struct err *err);
