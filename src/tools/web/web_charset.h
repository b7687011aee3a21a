/* SPDX-License-Identifier: MIT
 * web_charset.h - text of a server as UTF-8. */
#pragma once
#include "lib/base/buf.h"

/* Appends at most limit_bytes. What decides, the first that says something: a byte order mark, charset (of the Content-Type;
 * may be empty), the page itself if it is HTML, and the bytes: UTF-8 if they are valid, else windows-1252. Bytes that mean
 * nothing become U+FFFD. */
void web_decode(struct str bytes, struct str charset, bool is_html, size_t limit_bytes, struct buf *out);
