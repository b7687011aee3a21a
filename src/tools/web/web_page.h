/* SPDX-License-Identifier: MIT
 * web_page.h - converts a server's answer to text for a model. Runs on any thread. */
#pragma once
#include <stdatomic.h>
#include "lib/base/buf.h"

/* Appends at most limit_bytes. The encoding is that of the byte order mark, of charset (from the Content-Type; may be empty), or
 * of a meta element if it is HTML; without these UTF-8 if the bytes are valid, else windows-1252. Invalid bytes become U+FFFD. */
void web_decode(struct str bytes, struct str charset, bool is_html, size_t limit_bytes, struct buf *out);

enum { WEB_PAGE_LIMIT_BYTES = 1 << 20 }; /* of the text */

struct web_source {
	struct str bytes;
	const char *type;        /* value of Content-Type; NULL or "": unknown */
	const char *url;         /* where links of it begin */
	const char *stem;        /* path without extension, for a file that is not text; NULL: it is not kept */
	const atomic_bool *stop; /* ends it early */
};

/* Appends Markdown for HTML, other text as it is. Anything else is saved to a file, and the text names it (*ret_is_file). */
int web_page_read(const struct web_source *source, struct buf *out, bool *ret_is_file, struct err *err);
