/* SPDX-License-Identifier: MIT
 * base64.h - bytes as text: base64 (RFC 4648, section 4: + and /, padded) and the encoding of URLs. */
#pragma once
#include "lib/base/buf.h"

/* characters that n bytes become */
static inline size_t base64_len(size_t n)
{
	return (n + 2) / 3 * 4;
}

void base64_add(struct buf *out, struct str bytes); /* appends the text */
/* Appends the bytes. Skips whitespace. -ERR_PARSE: not base64; out is unchanged. */
int base64_decode(struct buf *out, struct str text, struct err *err);
void base64url_add(struct buf *out, struct str bytes); /* with - and _, without padding */
/* %XX for all but letters, digits, -._~ and the characters of kept. */
void percent_encode(struct buf *out, struct str text, const char *kept);
void percent_decode(struct buf *out, struct str text); /* an invalid escape stays */
