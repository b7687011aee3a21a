/* SPDX-License-Identifier: MIT
 * region.c - the live region. */
#include "face/screen/region.h"
#include <limits.h>
#include "face/screen/width.h"
#include "lib/base/utf8.h"

void region_init(struct region *r)
{
	const char *term = getenv("TERM"), *tmux = getenv("TMUX"), *program = getenv("TERM_PROGRAM");

	*r = (struct region){ .columns = 80, .rows = 24 };
	r->rewraps_caret = tmux && *tmux;
	r->is_xterm_js = program && !strcmp(program, "vscode");
	static const char *const cutting[] = { "linux", "rxvt", "st-", "dvtm", "eterm", "Eterm", "cygwin" };
	bool known = getenv("XTERM_VERSION") || getenv("STY") || getenv("VIM_TERMINAL") || getenv("NVIM") ||
		     getenv("INSIDE_EMACS");
	for (size_t i = 0; term && i < COUNT_OF(cutting); i++)
		known = known || !strncmp(term, cutting[i], strlen(cutting[i]));
	r->cuts = known && !r->rewraps_caret;
}

void region_release(struct region *r)
{
	for (size_t i = 0; i < r->cap; i++)
		styled_release(&r->shown[i]);
	free(r->shown);
	r->shown = NULL;
	r->shown_count = r->cap = 0;
}

static void move_to(struct region *r, size_t row, unsigned column, struct buf *out)
{
	if (row < r->at_row)
		buf_addf(out, "\033[%zuA", r->at_row - row);
	else if (row > r->at_row)
		buf_addf(out, "\033[%zuB", row - r->at_row);
	if (column != r->at_column && column)
		buf_addf(out, "\033[%uG", column + 1);
	else if (column != r->at_column)
		buf_addch(out, '\r');
	r->at_row = row;
	r->at_column = column;
}

/* Erases the row of the cursor, which is in column 0, and all below. Not by ED alone: tmux takes that, in the first column of the
 * screen's first row, for a new screen and keeps the old one in its history. */
static void erase_down(struct buf *out)
{
	buf_addstr(out, "\033[K\033[C\033[J\r");
}

/* Behind a cluster whose width terminals do not agree about the next column is set. */
static void write_row(struct region *r, const struct styled *row, size_t from, struct buf *out)
{
	struct str s = buf_str(&row->text);
	unsigned width;
	uint32_t cp;

	for (size_t at = from; at < s.n;) {
		size_t end = at, one;
		bool sure = true;
		while (end < s.n && sure) {
			one = end;
			end = cells_next(s, end, &width);
			r->at_column += width;
			bool single = utf8_decode(s.p + one, &cp) == end - one;
			sure = width_is_sure(cp, single, width);
		}
		styled_write(row, at, end, r->colour, out);
		if (!sure)
			buf_addf(out, "\033[%uG", r->at_column + 1);
		at = end;
	}
}

static void update_row(struct region *r, size_t i, const struct styled *to, struct buf *out)
{
	const struct styled *from = &r->shown[i];
	struct str s = buf_str(&to->text);
	size_t same = 0, common = MIN(from->text.n, to->text.n);
	unsigned column = 0, width;

	while (same < common) {
		size_t end = cells_next(s, same, &width);
		if (end > common || memcmp(from->text.p + same, s.p + same, end - same) != 0 ||
		    memcmp(from->looks.p + same, to->looks.p + same, end - same) != 0)
			break;
		same = end;
		column += width;
	}
	/* a character that joins the last common one was not there before */
	if (same < from->text.n && same == to->text.n && same && (unsigned char)from->text.p[same] >= 0x80)
		same = column = 0;
	move_to(r, i, column, out);
	write_row(r, to, same, out);
	if (cells_width(buf_str(&from->text)) > r->at_column)
		buf_addstr(out, "\033[K");
}

void region_draw(struct region *r, struct styled *rows, size_t count, size_t row, unsigned column, struct str above,
		 struct buf *out)
{
	size_t changed = above.n || count != r->shown_count ? 2 : 0;

	for (size_t i = 0; i < count && i < r->shown_count && changed < 2; i++)
		changed += !styled_equal(&rows[i], &r->shown[i]);
	if (changed > 1)
		buf_addstr(out, "\033[?2026h");
	if (above.n) {
		region_erase(r, out);
		buf_add(out, above.p, above.n);
	}
	if (count > r->cap) {
		r->shown = xrealloc(r->shown, count * sizeof *r->shown);
		memset(r->shown + r->cap, 0, (count - r->cap) * sizeof *r->shown);
		r->cap = count;
	}
	for (size_t i = 0; i < count; i++) {
		if (i >= r->shown_count) {
			if (i) {
				move_to(r, i - 1, r->at_column, out);
				buf_addstr(out, "\r\n");
			}
			r->at_row = i;
			r->at_column = 0;
			write_row(r, &rows[i], 0, out);
		} else if (!styled_equal(&rows[i], &r->shown[i])) {
			update_row(r, i, &rows[i], out);
		}
		struct styled old = r->shown[i];

		r->shown[i] = rows[i];
		rows[i] = old;
		styled_clear(&rows[i]);
	}
	if (count < r->shown_count) {
		move_to(r, count, 0, out);
		erase_down(out);
	}
	r->shown_count = count;
	if (count)
		move_to(r, row, column, out);
	if (changed > 1)
		buf_addstr(out, "\033[?2026l");
}

void region_write_again(struct region *r, struct buf *out)
{
	unsigned column = r->at_column;

	buf_addch(out, '\r');
	r->at_column = 0;
	write_row(r, &r->shown[r->at_row], 0, out);
	buf_addstr(out, "\033[K");
	move_to(r, r->at_row, column, out);
}

void region_keep(struct region *r, struct buf *out)
{
	buf_addstr(out, "\r\n");
	r->shown_count = r->at_row = r->at_column = 0;
}

void region_erase(struct region *r, struct buf *out)
{
	if (!r->shown_count)
		return;
	move_to(r, 0, 0, out);
	erase_down(out);
	r->shown_count = 0;
}

/* How often a terminal with so many columns breaks row i before its column `to`; *ret_column: where that column is then. A wide
 * character that does not fit is on the next row as a whole. */
static size_t breaks_before(const struct region *r, size_t i, unsigned to, unsigned columns, unsigned *ret_column)
{
	struct str row = buf_str(&r->shown[i].text);
	unsigned column = 0, passed = 0, width;
	size_t breaks = 0;

	for (size_t at = 0; at < row.n; column += width, passed += width) {
		at = cells_next(row, at, &width);
		if (column + width > columns) {
			breaks++;
			column = 0;
		}
		if (passed >= to)
			break;
	}
	*ret_column = column;
	return breaks;
}

static size_t wrapped_rows(const struct region *r, size_t i, unsigned columns)
{
	unsigned end;

	return 1 + breaks_before(r, i, UINT_MAX, columns, &end);
}

/* xterm.js wraps from the bottom to the top, except the row that it believes to be the cursor's: each row that it inserts moves that
 * belief down, also for rows below the cursor. */
static size_t rows_up_in_xterm_js(const struct region *r, unsigned columns)
{
	size_t at = r->at_row;

	for (size_t i = r->shown_count; i-- > 0;)
		if (at != i)
			at += wrapped_rows(r, i, columns) - 1;
	return at;
}

bool region_is_wrapped(const struct region *r, unsigned columns, unsigned column)
{
	unsigned caret = 0;

	if (!columns || !r->shown_count)
		return true;
	breaks_before(r, r->at_row, r->at_column, columns, &caret);
	return column == caret % columns || (caret + 1 >= columns && column + 1 >= columns);
}

void region_resize(struct region *r, unsigned columns, unsigned rows, unsigned column, struct buf *out)
{
	bool known = column != REGION_COLUMN_UNKNOWN && columns && r->shown_count && r->at_column >= columns;
	unsigned caret = 0;
	size_t breaks = r->shown_count && columns ? breaks_before(r, r->at_row, r->at_column, columns, &caret) : 0;
	bool at_edge = known && column + 1 >= columns;
	bool unclear = at_edge && caret + 1 >= columns; /* it would be there in either case */
	bool wrapped = !known || unclear ? r->rewraps_caret : column == caret % columns;
	bool cut = at_edge && !wrapped && !r->is_xterm_js && !r->rewraps_caret;
	size_t up = r->at_row;

	/* It cut the cursor's row, and only xterm.js is known to wrap the others then: from now on it counts as one that cuts. A row
	 * may stay behind where that is wrong; none is lost. An answer that fits no terminal that we know changes nothing. */
	r->cuts = r->cuts || (cut && !unclear);
	if (!r->cuts && !cut && columns < r->columns && columns && (!known || wrapped || at_edge)) {
		breaks += known && caret == columns && !column; /* behind a full row: on the next one */
		up = wrapped ? breaks : 0;
		for (size_t i = 0; i < r->at_row; i++)
			up += wrapped_rows(r, i, columns);
		if (r->is_xterm_js)
			up = rows_up_in_xterm_js(r, columns);
	}
	r->columns = MAX(columns, 2u);
	r->rows = MAX(rows, 2u);
	if (!r->shown_count)
		return;
	buf_addch(out, '\r');
	if (up)
		buf_addf(out, "\033[%zuA", up);
	erase_down(out);
	r->shown_count = r->at_row = r->at_column = 0;
}
