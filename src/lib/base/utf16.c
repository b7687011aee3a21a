/* SPDX-License-Identifier: MIT
 * utf16.c - files that begin with a byte order mark. */
#include "lib/base/utf16.h"
#include "lib/base/utf8.h"

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

static uint32_t next_code_point(struct str text, size_t *at)
{
	unsigned char lead = (unsigned char)text.p[*at];
	size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	uint32_t cp = len == 1 ? lead : lead & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		cp = cp << 6 | ((unsigned char)text.p[*at + i] & 0x3f);
	*at += len;
	return cp;
}

void text_encode(struct str text, enum text_encoding encoding, struct buf *out)
{
	bool big_endian = encoding == TEXT_UTF16_BE;

	buf_add(out, marks[encoding].p, marks[encoding].n);
	if (encoding == TEXT_UTF8 || encoding == TEXT_UTF8_BOM) {
		buf_add(out, text.p, text.n);
		return;
	}
	for (size_t at = 0; at < text.n;) {
		uint32_t cp = next_code_point(text, &at);
		if (cp < 0x10000) {
			add_unit(out, cp, big_endian);
		} else {
			add_unit(out, HIGH_FIRST + ((cp - 0x10000) >> 10), big_endian);
			add_unit(out, LOW_FIRST + ((cp - 0x10000) & 0x3ff), big_endian);
		}
	}
}
