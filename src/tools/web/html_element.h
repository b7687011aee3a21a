/* SPDX-License-Identifier: MIT
 * html_element.h - what elements of a page become in Markdown; for the files that read pages.
 *
 * How to add one: a row in the table of html_element.c, sorted by name, and if nothing there fits it, a function for its
 * beginning and one for its end. */
#pragma once
#include "tools/web/html_writer.h"

enum { HTML_ELEMENTS_MAX = 64 };

/* An element that has begun and not ended */
struct html_open {
	const char *name; /* borrowed from the parser */
	const struct html_element *element;
	struct html_place before;
	size_t inside;   /* length of the output when its content began */
	char *link;      /* owned */
	unsigned number; /* of the last item of a list */
	bool hidden;
};

/* A page on its way */
struct markdown {
	struct html_writer writer;
	size_t limit_bytes;
	char *base; /* owned; NULL: links stay as they are */
	struct html_open *open;
	size_t count, cap;
	unsigned hidden; /* open elements that are */
	unsigned tables, rows, cells;
};

struct html_element {
	const char *name;
	/* attributes as in html_parse.h. Either may be NULL. */
	void (*begin)(struct markdown *m, struct html_open *e, const char *const *attributes);
	void (*end)(struct markdown *m, struct html_open *e);
	const char *mark;
};

/* The number of an element that becomes something; -1: one whose text is all there is to it. name: lower case. */
int html_element_find(struct str name);
const struct html_element *html_element_at(int number);                      /* NULL: -1 */
const char *html_attribute(const char *const *attributes, const char *name); /* NULL: it does not have it */
