/* SPDX-License-Identifier: MIT
 * base64.c - bytes as text. */
#include "lib/base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, struct str bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.p;
	size_t left = bytes.n;

	buf_reserve(out, base64_len(bytes.n));
	for (char *to = out->p + out->n; left; p += 3, to += 4) {
		uint32_t group = (uint32_t)p[0] << 16 | (left > 1 ? (uint32_t)p[1] << 8 : 0) | (left > 2 ? p[2] : 0);
		to[0] = alphabet[group >> 18];
		to[1] = alphabet[group >> 12 & 63];
		to[2] = left > 1 ? alphabet[group >> 6 & 63] : '=';
		to[3] = left > 2 ? alphabet[group & 63] : '=';
		left -= MIN(left, (size_t)3);
	}
	out->n += base64_len(bytes.n);
	out->p[out->n] = '\0';
}

/* Of a digit: its value + 1; 0: not a digit */
static const unsigned char values[256] = {
	['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
	['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
	['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
	['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
	['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

int base64_decode(struct buf *out, struct str text, struct err *err)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t before = out->n, digits = 0, padding = 0, i = 0;
	uint32_t group = 0;

	buf_reserve(out, text.n / 4 * 3 + 3);
	/* Groups of four digits up to the first one with something else in it: nearly always the last. */
	for (; i + 4 <= text.n && values[p[i]] && values[p[i + 1]] && values[p[i + 2]] && values[p[i + 3]]; i += 4) {
		group = (uint32_t)(values[p[i]] - 1) << 18 | (uint32_t)(values[p[i + 1]] - 1) << 12 |
			(uint32_t)(values[p[i + 2]] - 1) << 6 | (uint32_t)(values[p[i + 3]] - 1);
		for (int shift = 16; shift >= 0; shift -= 8)
			out->p[out->n++] = (char)(group >> shift);
	}
	out->p[out->n] = '\0';
	for (group = 0; i < text.n; i++) {
		if (char_in(text.p[i], "\n\r \t"))
			continue;
		padding += text.p[i] == '=';
		if (text.p[i] != '=' && (!values[p[i]] || padding)) {
			padding = 4; /* refused below */
			break;
		}
		group = group << 6 | (uint32_t)(values[p[i]] ? values[p[i]] - 1 : 0);
		if (++digits % 4)
			continue;
		const char three[] = { (char)(group >> 16), (char)(group >> 8), (char)group };
		buf_add(out, three, 3 - MIN(padding, (size_t)2));
		group = 0;
	}
	if (digits % 4 == 0 && padding <= 2)
		return 0;
	out->n = before;
	out->p[before] = '\0';
	return err_set(err, ERR_PARSE, "not base64");
}

void base64url_add(struct buf *out, struct str bytes)
{
	size_t from = out->n;

	base64_add(out, bytes);
	while (out->n > from && out->p[out->n - 1] == '=')
		out->p[--out->n] = '\0';
	for (size_t i = from; i < out->n; i++)
		out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
}

void percent_encode(struct buf *out, struct str text, const char *kept)
{
	size_t from = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (char_is_alnum(c) || char_in(c, "-._~") || char_in(c, kept))
			continue;
		buf_add(out, text.p + from, i - from);
		buf_addf(out, "%%%02X", (unsigned char)c);
		from = i + 1;
	}
	buf_add(out, text.p + from, text.n - from);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

void percent_decode(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		int high = text.p[i] == '%' && text.n - i > 2 ? hex_digit(text.p[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(text.p[i + 2]) : -1;
		buf_addch(out, low >= 0 ? (char)(high << 4 | low) : text.p[i]);
		i += low >= 0 ? 2 : 0;
	}
}
