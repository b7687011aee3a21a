/* SPDX-License-Identifier: MIT
 * utf8.c - validation and repair of UTF-8, conversion from and to UTF-16. */
#include "lib/base/utf8.h"

/* Bytes of the well-formed sequence at p (1..4), or 0. If ill-formed, *ret_bad is the length of its maximal subpart. */
static size_t sequence_len(const unsigned char *p, size_t n, size_t *ret_bad)
{
	unsigned char c = p[0];
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	*ret_bad = 1;
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf) {
		need = 2;
	} else if (c >= 0xe0 && c <= 0xef) {
		need = 3;
		low = c == 0xe0 ? 0xa0 : low;
		high = c == 0xed ? 0x9f : high;
	} else if (c >= 0xf0 && c <= 0xf4) {
		need = 4;
		low = c == 0xf0 ? 0x90 : low;
		high = c == 0xf4 ? 0x8f : high;
	} else {
		return 0;
	}
	for (size_t i = 1; i < need; i++) {
		if (i >= n || p[i] < low || p[i] > high) {
			*ret_bad = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return need;
}

size_t utf8_valid_prefix(const char *p, size_t n)
{
	size_t i = 0, bad;

	while (i < n) {
		uint64_t word;
		while (i + sizeof word <= n) { /* eight ASCII bytes at a time */
			memcpy(&word, p + i, sizeof word);
			if (word & 0x8080808080808080u)
				break;
			i += sizeof word;
		}
		if (i >= n)
			break;
		size_t len = sequence_len((const unsigned char *)p + i, n - i, &bad);
		if (!len)
			return i;
		i += len;
	}
	return i;
}

void utf8_add_repaired(struct buf *out, struct str s)
{
	while (s.n) {
		size_t good = utf8_valid_prefix(s.p, s.n), bad;
		buf_add(out, s.p, good);
		s.p += good;
		s.n -= good;
		if (!s.n)
			return;
		(void)sequence_len((const unsigned char *)s.p, s.n, &bad);
		buf_add(out, "\xef\xbf\xbd", 3);
		s.p += bad;
		s.n -= bad;
	}
}

struct str utf8_cut(struct str s, size_t n)
{
	if (s.n <= n)
		return s;
	while (n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	s.n = n;
	return s;
}

size_t utf8_encode(uint32_t cp, char out[4])
{
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	for (size_t i = n; --i > 0; cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)(leads[n] | cp);
	return n;
}

size_t utf8_decode(const char *p, uint32_t *ret_cp)
{
	unsigned char lead = (unsigned char)p[0];
	size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	*ret_cp = n == 1 ? lead : lead & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		*ret_cp = *ret_cp << 6 | ((unsigned char)p[i] & 0x3fu);
	return n;
}

/* UTF-16, and files that begin with a byte order mark. */

enum { HIGH_FIRST = 0xd800, LOW_FIRST = 0xdc00, LOW_LAST = 0xdfff, REPLACEMENT = 0xfffd };

static const struct str marks[] = {
	[TEXT_UTF8] = { "", 0 },
	[TEXT_UTF8_BOM] = { "\xef\xbb\xbf", 3 },
	[TEXT_UTF16_LE] = { "\xff\xfe", 2 },
	[TEXT_UTF16_BE] = { "\xfe\xff", 2 },
};

enum text_encoding text_encoding_of(struct str bytes, size_t *ret_mark_len)
{
	enum text_encoding found = TEXT_UTF8;

	for (enum text_encoding e = TEXT_UTF8_BOM; e <= TEXT_UTF16_BE; e++)
		if (str_starts(bytes, marks[e]))
			found = e;
	*ret_mark_len = marks[found].n;
	return found;
}

static uint32_t unit_at(struct str bytes, size_t at, bool big_endian)
{
	unsigned first = (unsigned char)bytes.p[at];
	unsigned second = (unsigned char)bytes.p[at + 1];

	return big_endian ? first << 8 | second : second << 8 | first;
}

void utf16_decode(struct str bytes, enum text_encoding encoding, struct buf *out, bool *ret_exact)
{
	bool big_endian = encoding == TEXT_UTF16_BE;
	size_t at = 0;

	*ret_exact = bytes.n % 2 == 0;
	buf_reserve(out, bytes.n);
	while (at < bytes.n) {
		uint32_t cp = at + 2 <= bytes.n ? unit_at(bytes, at, big_endian) : REPLACEMENT;
		at += 2;
		if (cp >= HIGH_FIRST && cp < LOW_FIRST && at + 2 <= bytes.n) {
			uint32_t low = unit_at(bytes, at, big_endian);
			if (low >= LOW_FIRST && low <= LOW_LAST) {
				cp = 0x10000 + ((cp - HIGH_FIRST) << 10) + (low - LOW_FIRST);
				at += 2;
			}
		}
		if (cp >= HIGH_FIRST && cp <= LOW_LAST) {
			cp = REPLACEMENT;
			*ret_exact = false;
		}
		char encoded[4];
		buf_add(out, encoded, utf8_encode(cp, encoded));
	}
}

static void add_unit(struct buf *out, uint32_t unit, bool big_endian)
{
	char low = (char)(unit & 0xff);
	char high = (char)(unit >> 8);

	buf_add(out, big_endian ? (char[]){ high, low } : (char[]){ low, high }, 2);
}

void text_encode(struct str text, enum text_encoding encoding, struct buf *out)
{
	bool big_endian = encoding == TEXT_UTF16_BE;

	buf_append(out, marks[encoding]);
	if (encoding == TEXT_UTF8 || encoding == TEXT_UTF8_BOM) {
		buf_append(out, text);
		return;
	}
	for (size_t at = 0; at < text.n;) {
		uint32_t cp;
		at += utf8_decode(text.p + at, &cp);
		if (cp < 0x10000) {
			add_unit(out, cp, big_endian);
		} else {
			add_unit(out, HIGH_FIRST + ((cp - 0x10000) >> 10), big_endian);
			add_unit(out, LOW_FIRST + ((cp - 0x10000) & 0x3ff), big_endian);
		}
	}
}
