/* SPDX-License-Identifier: MIT
 * line_reader.h - lines out of a byte stream of a stranger. A line inside one fed chunk is handed over in place; of a line
 * longer than the limit the first bytes are handed over and the rest is dropped, so that a flood costs no memory. */
#pragma once
#include "lib/base/buf.h"

struct line_reader {
	size_t limit_bytes;
	/* Without its LF or CRLF, borrowed until return. cut: there was more of it. Empty lines come too. */
	void (*line)(void *data, struct str line, bool cut);
	void *data;
	struct buf held; /* the beginning of a line */
	bool dropping;   /* up to the next line end */
};

void line_reader_feed(struct line_reader *r, const char *p, size_t n);
void line_reader_end(struct line_reader *r); /* the stream is over: what is held is its last line */
void line_reader_release(struct line_reader *r);
