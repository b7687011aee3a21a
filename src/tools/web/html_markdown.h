/* SPDX-License-Identifier: MIT
 * html_markdown.h - a page as Markdown for a model: headings, lists, links, tables, code and quotes stay, scripts, styles and
 * what the page hides go. The output is valid UTF-8 for any input and never longer than its limit. */
#pragma once
#include "lib/base/buf.h"
#include "tools/web/html_parse.h"

struct html_page {
	struct str text;    /* valid UTF-8 */
	const char *base;   /* the address that links are taken from; NULL: links stay as they are */
	size_t limit_bytes; /* of the Markdown */
	struct html_limits limits;
};

/* Appends. A page that was not read to its end says so in its last line. */
int html_to_markdown(const struct html_page *page, struct buf *out, struct err *err);

/* The number of an element that becomes something; -1: one whose text is all there is to it. name: lower case. */
enum { HTML_ELEMENTS_MAX = 64 };
int html_element_find(struct str name);
