/* SPDX-License-Identifier: MIT
 * utf8.c - validation and repair of UTF-8. */
#include "lib/base/utf8.h"

/* Bytes of the well-formed sequence at p (1..4), or 0. If ill-formed, *ret_bad is the length of its maximal subpart. */
static size_t sequence(const unsigned char *p, size_t n, size_t *ret_bad)
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
		size_t len = sequence((const unsigned char *)p + i, n - i, &bad);
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
		(void)sequence((const unsigned char *)s.p, s.n, &bad);
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
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | (cp >> 6));
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | (cp >> 12));
		out[1] = (char)(0x80 | ((cp >> 6) & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (cp >> 18));
	out[1] = (char)(0x80 | ((cp >> 12) & 0x3f));
	out[2] = (char)(0x80 | ((cp >> 6) & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
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
