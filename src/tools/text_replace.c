/* SPDX-License-Identifier: MIT
 * text_replace.c - finding and replacing text as Edit does. */
#include "tools/text_replace.h"

static bool text_uses_crlf(struct str text)
{
	size_t crlf = 0;
	size_t lines = 0;

	for (struct str rest = text; rest.n;) {
		const char *end = memchr(rest.p, '\n', rest.n);
		if (!end)
			break;
		lines++;
		crlf += end > rest.p && end[-1] == '\r';
		rest.n -= (size_t)(end + 1 - rest.p);
		rest.p = end + 1;
	}
	return crlf * 2 > lines;
}

/* Length of the text at p that needle matches, LF matching CRLF as well; 0: no match. */
static size_t match_at(const char *p, size_t n, struct str needle)
{
	size_t at = 0;

	for (size_t i = 0; i < needle.n; i++) {
		if (needle.p[i] == '\n' && at + 1 < n && p[at] == '\r' && p[at + 1] == '\n')
			at++;
		if (at >= n || p[at] != needle.p[i])
			return 0;
		at++;
	}
	return at;
}

/* The first match at or after from; n == 0: none. */
static struct str find(struct str text, size_t from, struct str needle)
{
	if (from >= text.n)
		return (struct str){ NULL, 0 };
	const char *nl = memchr(needle.p, '\n', needle.n);
	if (!nl) {
		const char *hit = memmem(text.p + from, text.n - from, needle.p, needle.n);
		return (struct str){ hit, hit ? needle.n : 0 };
	}
	/* The first line of the needle is searched for; when it is empty, every line end is a candidate. */
	struct str head = { needle.p, (size_t)(nl - needle.p) };
	for (const char *p = text.p + from, *end = text.p + text.n; p < end; p++) {
		p = head.n ? memmem(p, (size_t)(end - p), head.p, head.n) : memchr(p, '\n', (size_t)(end - p));
		if (!p)
			break;
		const char *start = !head.n && p > text.p + from && p[-1] == '\r' ? p - 1 : p;
		size_t n = match_at(start, (size_t)(end - start), needle);
		if (n)
			return (struct str){ start, n };
	}
	return (struct str){ NULL, 0 };
}

size_t text_count(struct str text, struct str needle)
{
	size_t count = 0;
	struct str hit;

	for (size_t from = 0; (hit = find(text, from, needle)).n; count++)
		from = (size_t)(hit.p - text.p) + hit.n;
	return count;
}

static void add_with_line_ends(struct buf *out, struct str text, bool crlf)
{
	for (size_t i = 0; i < text.n; i++) {
		if (crlf && text.p[i] == '\n' && (i == 0 || text.p[i - 1] != '\r'))
			buf_addch(out, '\r');
		buf_addch(out, text.p[i]);
	}
}

void text_replace(struct str text, struct str needle, struct str with, size_t count, struct buf *out)
{
	bool crlf = text_uses_crlf(text);
	size_t from = 0;

	for (; count; count--) {
		struct str hit = find(text, from, needle);
		if (!hit.n)
			break;
		buf_add(out, text.p + from, (size_t)(hit.p - text.p) - from);
		add_with_line_ends(out, with, crlf);
		from = (size_t)(hit.p - text.p) + hit.n;
	}
	buf_add(out, text.p + from, text.n - from);
}
