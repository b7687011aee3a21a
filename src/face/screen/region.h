/* SPDX-License-Identifier: MIT
 * region.h - the live region: the last rows on the terminal, the only ones that are drawn again. It makes bytes and writes nothing.
 *
 * It knows what the terminal shows and sends the difference. Rows are shorter than the window, so that none wraps; what is
 * finished goes above the region once and belongs to the terminal from then on. Nothing is scrolled, erased or moved above the
 * region's first row. */
#pragma once
#include "face/screen/paint.h"

struct region {
	unsigned columns, rows; /* of the window */
	enum theme colour;
	bool rewraps_caret; /* a narrower window wraps the row of the cursor too (tmux) */
	bool is_xterm_js;
	bool cuts;            /* it cuts rows instead of wrapping them */
	struct styled *shown; /* the rows on the terminal */
	size_t shown_count, cap;
	size_t at_row; /* where the terminal's cursor is */
	unsigned at_column;
};

void region_init(struct region *r); /* looks at the environment */
void region_release(struct region *r);
/* Appends what makes the terminal show the rows below what it has, with the cursor at (row, column). above: finished text, whole
 * lines with \r\n, which goes above the region. Rows become empty. */
void region_draw(struct region *r, struct styled *rows, size_t count, size_t row, unsigned column, struct str above,
		 struct buf *out);
/* Appends the cursor's row as it is: a terminal within a terminal may not show it any more. */
void region_write_again(struct region *r, struct buf *out);
/* Appends what leaves its rows where they are, as finished text; the cursor is at its last row. */
void region_keep(struct region *r, struct buf *out);
/* Appends what takes the region off the terminal. */
void region_erase(struct region *r, struct buf *out);
/* Does that answer of the terminal, where its cursor is, fit rows that it has wrapped for so many columns? */
bool region_is_wrapped(const struct region *r, unsigned columns, unsigned column);
/* The window has another size and the terminal may have wrapped the rows: takes them off. column: where the terminal says that its
 * cursor is now, from 0 on. Where that fits no terminal that we know, the fewest rows are taken off. */
enum { REGION_COLUMN_UNKNOWN = 0xffff };
void region_resize(struct region *r, unsigned columns, unsigned rows, unsigned column, struct buf *out);
