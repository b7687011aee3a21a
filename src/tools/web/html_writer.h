/* SPDX-License-Identifier: MIT
 * html_writer.h - the flow of Markdown text: blanks are folded, line ends come when something follows them, and every line
 * begins with what it stands in (a quote, an item of a list). */
#pragma once
#include "lib/base/buf.h"

enum { MOST_INDENTS = 16 }; /* deeper ones are not shown, so that a line cannot be mostly indent */

/* What is due before the next text; a copy of it brings the writer back to where it was */
struct html_place {
	size_t length;   /* of the output */
	unsigned breaks; /* line ends */
	bool blank;
	bool fresh; /* nothing was written since the line, the item or the mark began */
};

/* Zeroed but for out: ready. */
struct html_writer {
	struct buf *out; /* borrowed */
	size_t from;     /* where our part of it begins */
	struct html_place at;
	const char *indents[MOST_INDENTS];
	unsigned depth;    /* of indents, also those that are not shown */
	unsigned verbatim; /* text as it is */
	unsigned flat;     /* everything in one line */
};

void html_writer_text(struct html_writer *w, struct str text);
void html_writer_break(struct html_writer *w, unsigned breaks); /* line ends before what follows, at least so many */
/* Something of ours: with all that is due before it. Blanks and line ends behind it vanish. */
void html_writer_open(struct html_writer *w, const char *mark);
void html_writer_close(struct html_writer *w, const char *mark);    /* directly behind what is there */
void html_writer_indent(struct html_writer *w, const char *indent); /* of the next lines; a constant */
void html_writer_outdent(struct html_writer *w);

struct html_place html_writer_place(const struct html_writer *w);
void html_writer_return(struct html_writer *w, const struct html_place *place); /* nothing was written since */
