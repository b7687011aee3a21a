/* SPDX-License-Identifier: MIT
 * frontmatter_decode.c - from the bytes of a file to text: encodings, marks, line ends. */
#include "settings/frontmatter_int.h"
#include "base/utf8.h"

static uint32_t unit_at(const char *p, bool big)
{
	const unsigned char *u = (const unsigned char *)p;

	return big ? (uint32_t)u[0] << 8 | u[1] : (uint32_t)u[1] << 8 | u[0];
}

static void add_utf16(struct buf *out, struct str s, bool big)
{
	char c[4];

	for (size_t i = 0; i + 1 < s.n; i += 2) {
		uint32_t cp = unit_at(s.p + i, big);
		uint32_t low = i + 3 < s.n ? unit_at(s.p + i + 2, big) : 0;
		if (cp >= 0xd800 && cp < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
			i += 2;
		} else if (cp >= 0xd800 && cp < 0xe000) {
			cp = 0xfffd;
		}
		buf_add(out, c, utf8_encode(cp, c));
	}
	if (s.n % 2)
		buf_add(out, c, utf8_encode(0xfffd, c));
}

static struct str from_utf16(struct arena *arena, struct str bytes, struct diagnostics *d)
{
	AUTO_BUF struct buf out = { 0 };
	bool big = bytes.p[0] == '\xfe';

	add_utf16(&out, (struct str){ bytes.p + 2, bytes.n - 2 }, big);
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
	struct str text = bytes.n ? bytes : STR("");

	if (text.n >= 2 && (!memcmp(text.p, "\xff\xfe", 2) || !memcmp(text.p, "\xfe\xff", 2)))
		text = from_utf16(arena, text, d);
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = (struct str){ text.p + 3, text.n - 3 };
	if (!utf8_valid(text))
		text = repaired(arena, text, d);
	return text.n && memchr(text.p, '\r', text.n) ? with_lf(arena, text) : text;
}

/* Bytes of the blank character at the start of s, 0 if there is none. */
static size_t blank_at_start(struct str s)
{
	if (s.n && strchr(" \t\n\r\v\f", s.p[0]) && s.p[0])
		return 1;
	if (str_starts(s, STR("\xc2\xa0")))
		return 2;
	return str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
}

static size_t blank_at_end(struct str s)
{
	if (s.n && strchr(" \t\n\r\v\f", s.p[s.n - 1]) && s.p[s.n - 1])
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
