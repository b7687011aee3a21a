/* SPDX-License-Identifier: MIT
 * html_parse.h - a page as a run of events. No tree is built, so depth costs nothing but time, and time is limited. */
#pragma once
#include <stdatomic.h>
#include "lib/base/buf.h"
#include "lib/base/str.h"

/* Every begin has its end, also where the page forgets it. Slices are borrowed until return. */
struct html_handlers {
	/* attributes: name, value, name, value ... NULL; a value may be NULL. The whole pointer may be NULL. */
	void (*on_begin)(void *data, const char *name, const char *const *attributes);
	void (*on_end)(void *data, const char *name);
	void (*on_text)(void *data, struct str text);
	bool (*is_full)(void *data); /* enough: asked after each event */
};

struct html_limits {
	uint64_t time_ms;        /* of the processor; 0: none */
	const atomic_bool *stop; /* ends it; NULL: nothing does */
};

enum html_end { HTML_END, HTML_FULL, HTML_TOO_DEEP, HTML_TOO_SLOW, HTML_STOPPED };

/* page: clean (html_clean()). *ret_end says whether all of it was read. -ERR_NOT_FOUND: libxml2 is not installed. */
int html_parse(struct str page, const struct html_limits *limits, const struct html_handlers *handlers, void *data,
	       enum html_end *ret_end, struct err *err);

/* ---- cleaning --------------------------------------------------------------------------------------------------- */

/* A page in plain words: without unused attributes, comments and scripts. The parser behind it
 * repairs structure in a time that an author of thousands of attributes or wrong ends could choose; it never gets them. */

/* Appends. Takes time and room in proportion to the page. page: valid UTF-8. NUL becomes a blank, other control characters go. */
void html_clean(struct str page, struct buf *out);
