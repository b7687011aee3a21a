/* SPDX-License-Identifier: MIT
 * screen.c - layout of the input line, and the difference between two of its states. */
#include "face/cli/screen.h"
#include <wchar.h>
#include "lib/base/utf8.h"

enum { COLUMNS_DEFAULT = 80, ROWS_DEFAULT = 24, TAB_COLUMNS = 8, FINISHED_ROWS = 20, BACKSPACES_MAX = 3 };

void screen_init(struct screen *s)
{
	const char *term = getenv("TERM");

	*s = (struct screen){ .columns = COLUMNS_DEFAULT, .window_rows = ROWS_DEFAULT };
	s->dumb = !term || !*term || !strcmp(term, "dumb");
	if (getenv("TMUX") || getenv("VTE_VERSION"))
		s->resize = SCREEN_WRAPS;
	else if (getenv("XTERM_VERSION") || getenv("STY") ||
		 (term && (!strcmp(term, "linux") || !strncmp(term, "rxvt", 4))))
		s->resize = SCREEN_CUTS;
}

static void forget_rows(struct screen *s)
{
	s->shown = s->complete = false;
	s->row_count = s->start_count = s->at_row = s->top = 0;
	s->at_column = 0;
	buf_release(&s->content);
}

void screen_release(struct screen *s)
{
	buf_release(&s->content);
	for (size_t i = 0; i < s->row_cap; i++)
		buf_release(&s->rows[i].text);
	free(s->rows);
	free(s->starts);
	*s = (struct screen){ 0 };
}

void screen_set_size(struct screen *s, unsigned columns, unsigned rows)
{
	s->columns = columns ? columns : COLUMNS_DEFAULT;
	s->window_rows = rows ? rows : ROWS_DEFAULT;
}

/* ---- layout ------------------------------------------------------------------------------------------ */

/* The character at p, which is not a line end, at this column: its width, its length in bytes, and appended to out (may be
 * NULL) what shows it. What would act on the terminal is made visible. */
static unsigned put_character(const struct screen *s, const char *p, unsigned column, size_t *ret_n, struct buf *out)
{
	unsigned char c = (unsigned char)*p;
	uint32_t cp;

	*ret_n = utf8_decode(p, &cp);
	if (c >= 0x20 && c < 0x7f) {
		if (out)
			buf_addch(out, (char)c);
		return 1;
	}
	if (c == '\t') {
		unsigned width = MIN(TAB_COLUMNS - column % TAB_COLUMNS, s->columns > column ? s->columns - column : 1);
		if (out)
			buf_addf(out, "%*s", (int)width, "");
		return width;
	}
	if (c < 0x80) {
		char visible[] = { '^', (char)(c ^ 0x40) };
		if (out)
			buf_add(out, visible, MIN(s->columns, 2u));
		return MIN(s->columns, 2u);
	}
	int width = wcwidth((wchar_t)cp);
	bool acts = width < 0 || (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
	if (acts || (unsigned)width > s->columns) {
		if (out)
			buf_addstr(out, "\xef\xbf\xbd");
		return 1;
	}
	if (out)
		buf_add(out, p, *ret_n);
	return (unsigned)width;
}

/* Lays out the row that starts at i: returns where the next one starts. Behind a row that is full to its edge there is always
 * another one, for the cursor. At the end of the content *ret_last is set. */
static size_t lay_row(const struct screen *s, size_t i, struct screen_row *row, bool *ret_last)
{
	unsigned column = 0;
	bool wraps = false;
	size_t n = 1;

	*ret_last = false;
	while (!wraps && (i < s->content.n || column == s->columns)) {
		if (column == s->columns) {
			wraps = i == s->content.n || s->content.p[i] == '\n';
			if (wraps)
				break;
		}
		if (s->content.p[i] == '\n')
			break;
		unsigned width = put_character(s, s->content.p + i, column, &n, NULL);
		wraps = column + width > s->columns;
		if (wraps)
			break;
		if (row)
			(void)put_character(s, s->content.p + i, column, &n, &row->text);
		column += width;
		i += n;
	}
	if (row) {
		row->width = column;
		row->wraps = wraps;
	}
	if (wraps)
		return i;
	*ret_last = i >= s->content.n;
	return i + !*ret_last;
}

/* Adds the start of the next row, unless there is none. */
static void lay_next(struct screen *s)
{
	size_t next = 0;
	bool last = false;

	if (s->start_count)
		next = lay_row(s, s->starts[s->start_count - 1], NULL, &last);
	s->complete = last;
	if (last)
		return;
	s->starts = xgrow(s->starts, s->start_count, &s->start_cap, sizeof *s->starts);
	s->starts[s->start_count++] = next;
}

/* Lays out as far as the row of this offset and `more` rows behind it. Returns the row of the offset. */
static size_t lay_out(struct screen *s, size_t offset, size_t more)
{
	size_t row = 0;

	while (!s->complete && (!s->start_count || s->starts[s->start_count - 1] <= offset))
		lay_next(s);
	for (size_t low = 0, high = s->start_count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (s->starts[middle] <= offset) {
			row = middle;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	while (!s->complete && s->start_count <= row + more)
		lay_next(s);
	return row;
}

/* Takes prompt and text over, and drops the rows that start behind the first difference. */
static void set_content(struct screen *s, struct str prompt, struct str text)
{
	size_t total = prompt.n + text.n, same = 0;
	size_t known = MIN(s->content.n, total);
	enum { STEP = 4096 };

	if (s->content.n >= prompt.n && (!prompt.n || !memcmp(s->content.p, prompt.p, prompt.n)))
		same = prompt.n;
	while (same >= prompt.n && same < known) {
		size_t n = MIN((size_t)STEP, known - same);
		if (memcmp(s->content.p + same, text.p + (same - prompt.n), n) != 0) {
			while (s->content.p[same] == text.p[same - prompt.n])
				same++;
			break;
		}
		same += n;
	}
	if (same == total && s->content.n == total)
		return;
	while (same && same < s->content.n && ((unsigned char)s->content.p[same] & 0xc0) == 0x80)
		same--;
	s->content.n = MIN(same, s->content.n);
	if (same < prompt.n) {
		s->content.n = 0;
		same = 0;
		buf_add(&s->content, prompt.p, prompt.n);
	}
	buf_add(&s->content, text.p + (s->content.n - prompt.n), total - s->content.n);
	while (s->start_count > 1 && s->starts[s->start_count - 1] >= same)
		s->start_count--;
	s->complete = false;
}

/* ---- the terminal's cursor --------------------------------------------------------------------------- */

static void move_to(struct screen *s, size_t row, unsigned column, struct buf *out)
{
	bool behind_edge = s->at_column >= s->columns;

	if (row == s->at_row + 1 && !column && behind_edge && s->rows[s->at_row].wraps && !s->rows[row].text.n) {
		buf_addstr(out, " \r"); /* the terminal wraps, and knows that the row continues */
		s->at_row = row;
		s->at_column = 0;
		return;
	}
	if (row < s->at_row)
		buf_addf(out, "\033[%zuA", s->at_row - row);
	if (row > s->at_row) {
		buf_addch(out, '\r');
		for (size_t i = s->at_row; i < row; i++)
			buf_addch(out, '\n');
		s->at_column = 0;
		behind_edge = false;
	}
	s->at_row = row;
	if (column == s->at_column && !behind_edge)
		return;
	if (!column)
		buf_addch(out, '\r');
	else if (!behind_edge && column < s->at_column && s->at_column - column <= BACKSPACES_MAX)
		for (unsigned i = column; i < s->at_column; i++)
			buf_addch(out, '\b');
	else
		buf_addf(out, "\033[%uG", column + 1);
	s->at_column = column;
}

static unsigned width_of(const struct screen *s, struct str text)
{
	unsigned width = 0;

	for (size_t i = 0, n; i < text.n; i += n)
		width += put_character(s, text.p + i, width, &n, NULL);
	return width;
}

/* Where two rows begin to differ, at the start of a character with all that belongs to it. */
static size_t common_start(const struct buf *a, const struct buf *b)
{
	size_t n = 0, most = MIN(a->n, b->n);
	uint32_t cp;

	while (n < most && a->p[n] == b->p[n])
		n++;
	for (; n; n--) {
		bool inside_a = n < a->n && ((unsigned char)a->p[n] & 0xc0) == 0x80;
		bool inside_b = n < b->n && ((unsigned char)b->p[n] & 0xc0) == 0x80;
		if (inside_a || inside_b)
			continue;
		bool bare = n == a->n || (utf8_decode(a->p + n, &cp), cp < 0x80 || wcwidth((wchar_t)cp) > 0);
		bare = bare && (n == b->n || (utf8_decode(b->p + n, &cp), cp < 0x80 || wcwidth((wchar_t)cp) > 0));
		if (bare)
			break;
	}
	return n;
}

static void draw_row(struct screen *s, size_t i, struct screen_row *new, struct buf *out)
{
	struct screen_row *old = &s->rows[i];
	struct str text = buf_str(&new->text);
	size_t same = common_start(&old->text, &new->text);
	bool continues =
		i == s->at_row + 1 && !same && s->at_column >= s->columns && s->rows[i - 1].wraps && new->text.n;

	if (old->text.n == new->text.n && same == new->text.n) {
		old->wraps = new->wraps;
		return;
	}
	if (continues) /* the terminal wraps by itself */
		s->at_row = i;
	else
		move_to(s, i, width_of(s, (struct str){ text.p, same }), out);
	buf_add(out, text.p + same, text.n - same);
	s->at_column = new->width;
	if (old->width > new->width)
		buf_addstr(out, "\033[K");
	buf_clear(&old->text);
	buf_add(&old->text, text.p, text.n);
	old->width = new->width;
	old->wraps = new->wraps;
}

/* Shows rows of the layout from s->top on, at most `height`. */
static void draw_rows(struct screen *s, size_t height, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	size_t count = MIN(height, s->start_count - s->top);
	size_t had = s->row_count;

	if (count > s->row_cap) {
		s->rows = xrealloc(s->rows, count * sizeof *s->rows);
		memset(s->rows + s->row_cap, 0, (count - s->row_cap) * sizeof *s->rows);
		s->row_cap = count;
	}
	for (size_t i = had; i < count; i++) {
		buf_clear(&s->rows[i].text);
		s->rows[i].width = 0;
		s->rows[i].wraps = false;
	}
	s->row_count = MAX(had, count);
	for (size_t i = 0; i < count; i++) {
		struct screen_row row = { .text = text };
		bool last;
		buf_clear(&row.text);
		lay_row(s, s->starts[s->top + i], &row, &last);
		draw_row(s, i, &row, out);
		text = row.text;
	}
	if (had > count) {
		move_to(s, count, 0, out);
		buf_addstr(out, "\033[J");
	}
	s->row_count = count;
}

/* ---- a terminal that cannot move its cursor ---------------------------------------------------------- */

static void add_plain(const struct screen *s, struct str text, struct buf *out)
{
	unsigned column = 0;

	for (size_t i = 0, n = 1; i < text.n; i += n) {
		n = 1;
		if (text.p[i] == '\n')
			buf_addstr(out, "\r\n");
		else
			column += put_character(s, text.p + i, column, &n, out);
	}
}

static void draw_dumb(struct screen *s, struct str prompt, struct str text, size_t cursor, struct buf *out)
{
	AUTO_BUF struct buf now = { 0 };
	struct str old = buf_str(&s->content);

	buf_add(&now, prompt.p, prompt.n);
	buf_add(&now, text.p, cursor); /* its end is the cursor; what stands behind it is shown when it is finished */
	bool added = s->shown && str_starts(buf_str(&now), old);
	bool removed = s->shown && !added && str_starts(old, buf_str(&now));
	struct str gone = removed ? (struct str){ old.p + now.n, old.n - now.n } : STR("");
	if (added) {
		add_plain(s, (struct str){ now.p + old.n, now.n - old.n }, out);
	} else if (removed && gone.n < TAB_COLUMNS && !memchr(gone.p, '\n', gone.n)) {
		for (unsigned i = width_of(s, gone); i; i--)
			buf_addstr(out, "\b \b");
	} else {
		buf_addstr(out, s->shown ? "\r\n" : "");
		add_plain(s, buf_str(&now), out);
	}
	buf_clear(&s->content);
	buf_add(&s->content, buf_str(&now).p, now.n);
	s->shown = true;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

void screen_draw(struct screen *s, struct str prompt, struct str text, size_t cursor, struct buf *out)
{
	size_t height = MAX(s->window_rows / 3, 1u);

	if (s->dumb) {
		draw_dumb(s, prompt, text, cursor, out);
		return;
	}
	set_content(s, prompt, text);
	size_t row = lay_out(s, prompt.n + cursor, height);
	if (row < s->top)
		s->top = row;
	if (row >= s->top + height)
		s->top = row - height + 1;
	if (s->complete && s->top + height > s->start_count)
		s->top = s->start_count > height ? s->start_count - height : 0;
	draw_rows(s, height, out);
	size_t start = s->starts[row];
	move_to(s, row - s->top, width_of(s, (struct str){ s->content.p + start, prompt.n + cursor - start }), out);
	s->shown = true;
}

void screen_erase(struct screen *s, struct buf *out)
{
	if (!s->shown)
		return;
	if (s->dumb) {
		buf_addstr(out, "\r\n");
	} else {
		move_to(s, 0, 0, out);
		buf_addstr(out, "\033[J");
	}
	forget_rows(s);
}

void screen_finish(struct screen *s, struct str prompt, struct str text, struct buf *out)
{
	if (s->dumb) {
		draw_dumb(s, prompt, text, text.n, out);
	} else {
		set_content(s, prompt, text);
		s->top = 0;
		lay_out(s, 0, FINISHED_ROWS);
		draw_rows(s, FINISHED_ROWS, out);
		move_to(s, s->row_count - 1, s->rows[s->row_count - 1].width, out);
		if (s->start_count > FINISHED_ROWS) {
			buf_addstr(out, "\r\n... ");
			buf_addsize(out, s->content.n - s->starts[FINISHED_ROWS]);
			buf_addstr(out, " more");
		}
	}
	buf_addstr(out, "\r\n");
	forget_rows(s);
}

/* How many rows lie above the cursor once the window has this width: rows that are continued are one line for the terminal,
 * and it wraps lines again. own_line: also the one with the cursor. */
static size_t rows_above(const struct screen *s, unsigned columns, bool own_line)
{
	size_t rows = 0, line = 0, first = 0;

	for (size_t i = 0; i < s->at_row; i++) {
		line += s->rows[i].width;
		if (s->rows[i].wraps)
			continue;
		rows += line ? (line + columns - 1) / columns : 1;
		line = 0;
		first = i + 1;
	}
	return rows + (own_line ? (line + s->at_column) / columns : s->at_row - first);
}

void screen_resize(struct screen *s, unsigned columns, unsigned rows, struct buf *out)
{
	size_t above = s->at_row;

	if (s->shown && !s->dumb && columns) {
		/* Where the terminal's way is not known: rather a row that is left over than one of the transcript that goes. */
		if (s->resize == SCREEN_WRAPS)
			above = rows_above(s, columns, true);
		else if (s->resize == SCREEN_MAY_WRAP)
			above = MIN(above, MIN(rows_above(s, columns, true), rows_above(s, columns, false)));
		if (above)
			buf_addf(out, "\033[%zuA", above);
		buf_addstr(out, "\r\033[J");
		forget_rows(s);
	}
	screen_set_size(s, columns, rows);
}
