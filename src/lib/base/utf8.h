/* SPDX-License-Identifier: MIT
 * utf8.h - validation and repair. Files and tool output are any bytes; what goes to the API must be valid UTF-8. */
#pragma once
#include "lib/base/buf.h"
#include "lib/base/str.h"

/* Length of the longest valid prefix; n if all is valid. Surrogates (ED A0..BF), overlong forms and values above
 * U+10FFFF are invalid. Fast on ASCII. */
size_t utf8_valid_prefix(const char *p, size_t n);
static inline bool utf8_valid(struct str s)
{
	return utf8_valid_prefix(s.p, s.n) == s.n;
}

/* Appends s, each maximal invalid subpart replaced by U+FFFD (the practice of the Unicode standard, chapter 3). */
void utf8_add_repaired(struct buf *out, struct str s);

/* The longest prefix of s that has at most n bytes and does not end inside a character. */
struct str utf8_cut(struct str s, size_t n);

size_t utf8_encode(uint32_t cp, char out[4]);        /* returns 1..4 */
size_t utf8_decode(const char *p, uint32_t *ret_cp); /* of valid UTF-8; returns 1..4 */
