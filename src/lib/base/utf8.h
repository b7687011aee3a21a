/* SPDX-License-Identifier: MIT
 * utf8.h - validation and repair of UTF-8, conversion from and to UTF-16. Files and tool output are any bytes; texts for
 * the API must be valid UTF-8. */
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

enum text_encoding { TEXT_UTF8, TEXT_UTF8_BOM, TEXT_UTF16_LE, TEXT_UTF16_BE };

/* By the mark alone; TEXT_UTF8 without one. *ret_mark_len is the length of the mark. */
enum text_encoding text_encoding_of(struct str bytes, size_t *ret_mark_len);

/* bytes without the mark. Lone surrogates and an odd last byte become U+FFFD; *ret_exact is true if there were none, so
 * that encoding restores the same bytes. */
void utf16_decode(struct str bytes, enum text_encoding encoding, struct buf *out, bool *ret_exact);
/* The mark and the text; text must be valid UTF-8. */
void text_encode(struct str text, enum text_encoding encoding, struct buf *out);
