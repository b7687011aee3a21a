/* SPDX-License-Identifier: MIT
 * line_reader.h - splits an untrusted byte stream into lines. A line inside one chunk is not copied; a line above the
 * limit is truncated, so that a flood costs no memory. */
#pragma once
#include "lib/base/buf.h"

struct line_reader {
	size_t limit_bytes;
	/* Without its LF or CRLF, borrowed until return. cut: truncated. Empty lines are reported too. */
	void (*line)(void *data, struct str line, bool cut);
	void *data;
	struct buf held; /* the beginning of a line */
	bool dropping;   /* discard up to the next line end */
};

void line_reader_feed(struct line_reader *r, const char *p, size_t n);
void line_reader_end(struct line_reader *r); /* end of the stream: reports the last line */
void line_reader_release(struct line_reader *r);
