/* SPDX-License-Identifier: MIT
 * line_reader.c - lines out of a byte stream, with a limit. */
#include "mcp/transport/line_reader.h"

static void give(struct line_reader *r, struct str line, bool cut)
{
	if (!cut && line.n && line.p[line.n - 1] == '\r')
		line.n--;
	r->line(r->data, line, cut);
}

/* The end of a line, with its last bytes. */
static void finish_line(struct line_reader *r, struct str rest)
{
	if (r->dropping) {
		r->dropping = false;
		return;
	}
	if (r->held.n + rest.n > r->limit_bytes) {
		buf_add(&r->held, rest.p, r->limit_bytes - r->held.n);
		give(r, buf_str(&r->held), true);
	} else if (r->held.n) {
		buf_add(&r->held, rest.p, rest.n);
		give(r, buf_str(&r->held), false);
	} else {
		give(r, rest, false);
	}
	buf_release(&r->held);
}

/* Bytes that end no line. */
static void hold(struct line_reader *r, struct str rest)
{
	if (r->dropping)
		return;
	if (r->held.n + rest.n > r->limit_bytes) {
		finish_line(r, rest);
		r->dropping = true;
	} else {
		buf_add(&r->held, rest.p, rest.n);
	}
}

void line_reader_feed(struct line_reader *r, const char *p, size_t n)
{
	struct str rest = { p, n };

	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);
		if (!end) {
			hold(r, rest);
			return;
		}
		size_t used = (size_t)(end - rest.p);
		finish_line(r, (struct str){ rest.p, used });
		rest = (struct str){ end + 1, rest.n - used - 1 };
	}
}

void line_reader_end(struct line_reader *r)
{
	if (r->held.n)
		finish_line(r, (struct str){ "", 0 });
	r->dropping = false;
}

void line_reader_release(struct line_reader *r)
{
	buf_release(&r->held);
	r->dropping = false;
}
