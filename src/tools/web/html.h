/* SPDX-License-Identifier: MIT
 * html.h - HTML as Markdown for a model: headings, lists, links, tables, code and quotes stay; scripts, styles and hidden
 * elements go. The output is valid UTF-8 for any input and never longer than its limit. */
#pragma once
#include <stdatomic.h>
#include "lib/base/buf.h"
#include "lib/base/str.h"

struct html_limits {
	uint64_t time_ms;        /* of the processor; 0: none */
	const atomic_bool *stop; /* ends the conversion; NULL: nothing does */
};

struct html_page {
	struct str text;    /* valid UTF-8 */
	const char *base;   /* URL that links are relative to; NULL: links stay as they are */
	size_t limit_bytes; /* of the Markdown */
	struct html_limits limits;
};

/* Appends. If the page was not read to its end, the last line says so. -ERR_NOT_FOUND: libxml2 is not installed. */
int html_to_markdown(const struct html_page *page, struct buf *out, struct err *err);

/* Normalizes a page: known elements with the attributes that are used, no comments, scripts or end tags without a beginning.
 * The parser repairs structure in a time that an author of thousands of attributes or wrong end tags could choose; it never
 * gets them. Appends. Time and memory are proportional to the page. page: valid UTF-8. NUL becomes a blank, other control
 * characters are dropped. */
void html_clean(struct str page, struct buf *out);

/* The index of an element that Markdown has a form for; -1: only its text is used. name: lower case. */
enum { HTML_ELEMENTS_MAX = 64 };
int html_element_find(struct str name);
