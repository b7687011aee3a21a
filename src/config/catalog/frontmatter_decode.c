/* SPDX-License-Identifier: MIT
 * frontmatter_decode.c - from the bytes of a file to text: encodings, marks, line ends. */
#include "config/catalog/frontmatter_int.h"
#include "lib/base/utf16.h"
#include "lib/base/utf8.h"

static struct str from_utf16(struct arena *arena, struct str bytes, enum text_encoding encoding, struct diagnostics *d)
{
	AUTO_BUF struct buf out = { 0 };
	bool exact;

	utf16_decode(bytes, encoding, &out, &exact);
	diagnostics_add(d, DIAGNOSTIC_NOTE, 1, "the file is UTF-16; it was read as UTF-8");
	return arena_str(arena, buf_str(&out));
}

static struct str repaired(struct arena *arena, struct str text, struct diagnostics *d)
{
	AUTO_BUF struct buf out = { 0 };
	size_t good = utf8_valid_prefix(text.p, text.n);
	unsigned line = 1;

	for (size_t i = 0; i < good; i++)
		line += text.p[i] == '\n';
	utf8_add_repaired(&out, text);
	diagnostics_add(d, DIAGNOSTIC_NOTE, line, "bytes that are not UTF-8 were replaced");
	return arena_str(arena, buf_str(&out));
}

static struct str with_lf(struct arena *arena, struct str text)
{
	char *out = arena_alloc(arena, text.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\r')
			out[n++] = text.p[i];
		else if (i + 1 == text.n || text.p[i + 1] != '\n')
			out[n++] = '\n';
	}
	return (struct str){ out, n };
}

struct str fm_decode(struct arena *arena, struct str bytes, struct diagnostics *d)
{
	size_t mark_len;
	struct str text = bytes.n ? bytes : STR("");
	enum text_encoding encoding = text_encoding_of(text, &mark_len);

	text = (struct str){ text.p + mark_len, text.n - mark_len };
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE)
		text = from_utf16(arena, text, encoding, d);
	if (!utf8_valid(text))
		text = repaired(arena, text, d);
	return text.n && memchr(text.p, '\r', text.n) ? with_lf(arena, text) : text;
}

/* Bytes of the blank character at the start of s, 0 if there is none. */
static size_t blank_at_start(struct str s)
{
	if (s.n && char_in(s.p[0], " \t\n\r\v\f"))
		return 1;
	if (str_starts(s, STR("\xc2\xa0")))
		return 2;
	return str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
}

static size_t blank_at_end(struct str s)
{
	if (s.n && char_in(s.p[s.n - 1], " \t\n\r\v\f"))
		return 1;
	if (str_ends(s, STR("\xc2\xa0")))
		return 2;
	return str_ends(s, STR("\xef\xbb\xbf")) ? 3 : 0;
}

struct str fm_trim(struct str s)
{
	for (size_t n; (n = blank_at_start(s)); s.p += n)
		s.n -= n;
	for (size_t n; (n = blank_at_end(s));)
		s.n -= n;
	return s;
}
