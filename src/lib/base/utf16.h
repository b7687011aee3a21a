/* SPDX-License-Identifier: MIT
 * utf16.h - byte order marks, and conversion between UTF-16 and UTF-8. */
#pragma once
#include "lib/base/buf.h"

enum text_encoding { TEXT_UTF8, TEXT_UTF8_BOM, TEXT_UTF16_LE, TEXT_UTF16_BE };

/* By the mark alone; TEXT_UTF8 without one. *ret_mark_len is the length of the mark. */
enum text_encoding text_encoding_of(struct str bytes, size_t *ret_mark_len);

/* bytes without the mark. Lone surrogates and an odd last byte become U+FFFD; *ret_exact is true if there were none, so
 * that encoding restores the same bytes. */
void utf16_decode(struct str bytes, enum text_encoding encoding, struct buf *out, bool *ret_exact);
/* The mark and the text; text must be valid UTF-8. */
void text_encode(struct str text, enum text_encoding encoding, struct buf *out);
