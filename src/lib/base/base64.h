/* SPDX-License-Identifier: MIT
 * base64.h - bytes as text (RFC 4648, section 4: + and /, padded). */
#pragma once
#include "lib/base/buf.h"

size_t base64_len(size_t n);                        /* characters that n bytes become */
void base64_add(struct buf *out, struct str bytes); /* appends the text */
/* Appends the bytes. Skips whitespace. -ERR_PARSE: not base64; out is unchanged. */
int base64_decode(struct buf *out, struct str text, struct err *err);
