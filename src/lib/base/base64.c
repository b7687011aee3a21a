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

/* 0 to 63, or -1 */
static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(struct buf *out, struct str text, struct err *err)
{
	size_t before = out->n, digits = 0, padding = 0;
	uint32_t group = 0;

	buf_reserve(out, text.n / 4 * 3 + 3);
	for (size_t i = 0; i < text.n; i++) {
		int value = digit_value(text.p[i]);
		if (char_in(text.p[i], "\n\r \t"))
			continue;
		padding += text.p[i] == '=';
		if (text.p[i] != '=' && (value < 0 || padding)) {
			padding = 4; /* refused below */
			break;
		}
		group = group << 6 | (uint32_t)MAX(value, 0);
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
