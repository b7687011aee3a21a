/* SPDX-License-Identifier: MIT
 * line_reader.c - lines out of a byte stream, with a limit. */
#include "mcp/transport/transport_int.h"

/* The end of a line, with its last bytes. */
static void report_line(struct line_reader *r, struct str rest)
{
	bool cut = r->held.n + rest.n > r->limit_bytes;
	struct str line = rest;

	if (cut || r->held.n) {
		buf_add(&r->held, rest.p, cut ? r->limit_bytes - r->held.n : rest.n);
		line = buf_str(&r->held);
	}
	if (!cut && line.n && line.p[line.n - 1] == '\r')
		line.n--;
	r->line(r->data, line, cut);
	buf_release(&r->held);
}

void line_reader_feed(struct line_reader *r, const char *p, size_t n)
{
	struct str rest = { p, n };

	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);
		struct str part = { rest.p, end ? (size_t)(end - rest.p) : rest.n };
		bool too_long = r->held.n + part.n > r->limit_bytes;
		if (!r->dropping && (end || too_long))
			report_line(r, part);
		else if (!r->dropping)
			buf_add(&r->held, part.p, part.n);
		r->dropping = !end && (r->dropping || too_long);
		part.n += end ? 1 : 0;
		rest = (struct str){ rest.p + part.n, rest.n - part.n };
	}
}

void line_reader_end(struct line_reader *r)
{
	if (r->held.n)
		report_line(r, STR(""));
	r->dropping = false;
}

void line_reader_release(struct line_reader *r)
{
	buf_release(&r->held);
	r->dropping = false;
}
