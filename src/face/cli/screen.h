/* SPDX-License-Identifier: MIT
 * screen.h - the input line on the terminal: a prompt and the text of an editor over as many rows as they need, up to a third
 * of the window; of a longer text the rows around the cursor. It makes bytes and writes nothing.
 *
 * It knows what the terminal shows and sends the difference: one byte for a letter at the end of the line. Rows that are full
 * are continued by the terminal's own wrap, so that a selection has no line ends in it. A terminal that cannot move its cursor
 * (TERM unset or dumb) gets what is added, and else the whole text on a new line. */
#pragma once
#include "lib/base/buf.h"

struct screen_row {
	struct buf text; /* as it is on the terminal */
	unsigned width;
	bool wraps; /* continues in the next row */
};

struct screen {
	unsigned columns, window_rows;
	bool dumb;
	enum screen_resize {
		SCREEN_MAY_WRAP,
		SCREEN_WRAPS,
		SCREEN_CUTS
	} resize;           /* what a narrower window does to long rows */
	struct buf content; /* prompt and text, as laid out */
	size_t *starts;     /* of the rows; a row depends on nothing behind it, so they are made as far as needed */
	size_t start_count, start_cap;
	bool complete; /* starts has all rows */
	size_t top;    /* the first row that is shown */
	struct screen_row *rows;
	size_t row_count, row_cap;
	size_t at_row;      /* where the terminal's cursor is */
	unsigned at_column; /* columns: behind a full row, not wrapped yet */
	bool shown;
};

void screen_init(struct screen *s); /* looks at the environment */
void screen_release(struct screen *s);
void screen_set_size(struct screen *s, unsigned columns, unsigned rows); /* while nothing is shown */
/* Appends what makes the terminal show the text with its cursor at offset `cursor`. */
void screen_draw(struct screen *s, struct str prompt, struct str text, size_t cursor, struct buf *out);
/* Appends what takes all of it off the terminal. The cursor is at the start of the row where it began. */
void screen_erase(struct screen *s, struct buf *out);
/* The text is complete: it stays, its first rows if it is long, and the cursor is at the start of a row below it. */
void screen_finish(struct screen *s, struct str prompt, struct str text, struct buf *out);
/* The window has another size, and the terminal may have moved the rows: takes them off. */
void screen_resize(struct screen *s, unsigned columns, unsigned rows, struct buf *out);
