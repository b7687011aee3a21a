/* SPDX-License-Identifier: MIT
 * web_page.h - what a server sent, as text for a model. Runs on any thread. */
#pragma once
#include <stdatomic.h>
#include "lib/base/buf.h"

/* ---- charsets --------------------------------------------------------------------------------------------------- */

/* Appends at most limit_bytes. What decides, the first that says something: a byte order mark, charset (of the Content-Type;
 * may be empty), the page itself if it is HTML, and the bytes: UTF-8 if they are valid, else windows-1252. Bytes that mean
 * nothing become U+FFFD. */
void web_decode(struct str bytes, struct str charset, bool is_html, size_t limit_bytes, struct buf *out);

/* ---- pages ------------------------------------------------------------------------------------------------------ */

enum { WEB_PAGE_LIMIT_BYTES = 1 << 20 }; /* of the text */

struct web_source {
	struct str bytes;
	const char *type;        /* value of Content-Type; NULL or "": the server did not say */
	const char *url;         /* where links of it begin */
	const char *stem;        /* path without extension, for a file that is not text; NULL: it is not kept */
	const atomic_bool *stop; /* ends it early */
};

/* Appends Markdown for HTML, other text as it is. Anything else is saved to a file, and the text names it (*ret_is_file). */
int web_page_read(const struct web_source *source, struct buf *out, bool *ret_is_file, struct err *err);
