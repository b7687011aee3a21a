/* SPDX-License-Identifier: MIT
 * test_region.c - the live region against a small terminal: what it shows is what was meant, and nothing above it changes. */
#include "test_tui.h"
#include "face/screen/region.h"
#include "face/screen/width.h"

enum { COLUMNS = 40, ROWS = 400, FINISHED = 4 };

#define ERASE "\033[K\033[C\033[J\r"

/* Rows are never scrolled away: the terminal is as high as the test needs. */
struct terminal {
	char cells[ROWS][COLUMNS + 1];
	unsigned row, column;
};

static void terminal_write(struct terminal *t, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned n = 0;
		if (s.p[i] == '\r') {
			t->column = 0;
		} else if (s.p[i] == '\n') {
			t->row++;
		} else if (s.p[i] == '\033') {
			bool private = s.p[i + 2] == '?';
			for (i += 2 + private; s.p[i] == ';' || (s.p[i] >= '0' && s.p[i] <= '9'); i++)
				n = s.p[i] == ';' ? 0 : n * 10 + (unsigned)(s.p[i] - '0');
			CHECK(strchr(private ? "hl" : "ABCGJKm", s.p[i]));
			if (s.p[i] == 'A')
				t->row -= MIN(n, t->row);
			else if (s.p[i] == 'B')
				t->row += n;
			else if (s.p[i] == 'G')
				t->column = n - 1;
			else if (s.p[i] == 'C')
				t->column++;
			if (s.p[i] == 'J' || s.p[i] == 'K')
				memset(t->cells[t->row] + t->column, ' ', COLUMNS - t->column);
			for (unsigned r = t->row + 1; s.p[i] == 'J' && r < ROWS; r++)
				memset(t->cells[r], ' ', COLUMNS);
		} else if (s.p[i] == '\xe6') { /* a wide character: W and w */
			CHECK(t->column + 1 < COLUMNS && t->row < ROWS);
			memcpy(t->cells[t->row] + t->column, "Ww", 2);
			t->column += 2;
			i += 2;
		} else {
			CHECK(t->column < COLUMNS && t->row < ROWS);
			t->cells[t->row][t->column++] = s.p[i];
		}
	}
}

static void random_row(struct styled *row, unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	unsigned n = *seed >> 16 & 31;

	styled_clear(row);
	for (unsigned i = 0; i < n; i++)
		styled_addf(row, i & 4 ? LOOK_BOLD : LOOK_PLAIN, "%c", 'a' + (int)((*seed >> (i & 15)) % 3));
}

TEST(the_terminal_shows_what_is_meant_and_keeps_what_is_above)
{
	struct terminal *t = xcalloc(1, sizeof *t);
	struct region r = { .columns = COLUMNS, .rows = 24 };
	struct styled rows[6] = { 0 }, meant[6] = { 0 };
	unsigned seed = 3, finished = 0;

	memset(t->cells, ' ', sizeof t->cells);
	for (unsigned step = 0; step < 300; step++) {
		AUTO_BUF struct buf out = { 0 }, above = { 0 };
		seed = seed * 1103515245 + 12345;
		size_t count = seed >> 20 & 3 ? 1 + (seed >> 16) % 6 : r.shown_count ? r.shown_count : 1;
		for (size_t i = 0; i < count; i++) {
			if (seed >> i & 1 || i >= r.shown_count)
				random_row(&meant[i], &seed);
			styled_clear(&rows[i]);
			styled_append(&rows[i], &meant[i], 0, meant[i].text.n);
		}
		if (!(step % 3))
			buf_addf(&above, "finished %u\r\n", finished++);
		unsigned column = (unsigned)meant[count - 1].text.n;
		region_draw(&r, rows, count, count - 1, column, buf_str(&above), &out);
		terminal_write(t, buf_str(&out));
		CHECK_INT(t->row, finished + count - 1);
		CHECK_INT(t->column, column);
		for (unsigned i = 0; i < finished; i++) {
			char line[COLUMNS + 1];
			snprintf(line, sizeof line, "finished %-*u", COLUMNS - 9, i);
			CHECK(!memcmp(t->cells[i], line, COLUMNS));
		}
		for (size_t i = 0; i < 8; i++) {
			AUTO_BUF struct buf want = { 0 };
			buf_addf(&want, "%-*s", COLUMNS, i < count ? buf_str(&meant[i].text).p : "");
			CHECK(!memcmp(t->cells[finished + i], want.p, COLUMNS));
		}
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		styled_release(&rows[i]);
		styled_release(&meant[i]);
	}
	region_release(&r);
	free(t);
}

TEST(a_letter_at_the_end_of_the_line_costs_one_byte)
{
	struct region r = { .columns = 80, .rows = 24 };
	struct styled rows[2] = { 0 };

	for (unsigned n = 0; n < 20; n++) {
		AUTO_BUF struct buf out = { 0 };
		styled_addf(&rows[0], LOOK_PLAIN, "> %.*s", (int)n, "abcdefghijklmnopqrstuvwxyz");
		styled_add(&rows[1], LOOK_DIM, STR("status"));
		region_draw(&r, rows, 2, 0, n + 2, STR(""), &out);
		if (n)
			CHECK_INT(out.n, 1);
	}
	styled_release(&rows[0]);
	styled_release(&rows[1]);
	region_release(&r);
}

TEST(a_narrower_window_never_takes_a_row_above_the_region)
{
	/* rows of 10, 75 and 10 or 60 columns, the cursor in the last one; the window gets 40 columns */
	static const struct {
		bool cuts, tmux, xterm_js;
		unsigned caret, answer;
		const char *bytes;
	} cases[] = {
		{ false, false, false, 5, REGION_COLUMN_UNKNOWN, "\r\033[3A" ERASE },
		{ true, false, false, 5, REGION_COLUMN_UNKNOWN, "\r\033[2A" ERASE },
		{ false, false, false, 59, REGION_COLUMN_UNKNOWN, "\r\033[3A" ERASE }, /* the smaller sum */
		{ false, true, false, 59, REGION_COLUMN_UNKNOWN, "\r\033[4A" ERASE },
		{ false, false, false, 59, 19, "\r\033[4A" ERASE }, /* wrapped, as in tmux */
		{ false, false, false, 59, 39, "\r\033[2A" ERASE }, /* its row was cut, and it is not xterm.js */
		{ false, true, false, 59, 39, "\r\033[3A" ERASE },
		{ false, false, false, 59, 7, "\r\033[2A" ERASE }, /* as in no terminal that we know */
		{ true, false, false, 59, 39, "\r\033[2A" ERASE },
		{ false, false, true, 59, 39, "\r\033[3A" ERASE },
		{ false, false, true, 5, REGION_COLUMN_UNKNOWN, "\r\033[3A" ERASE },
	};

	for (size_t k = 0; k < COUNT_OF(cases); k++) {
		struct region r = { .columns = 80,
				    .rows = 24,
				    .cuts = cases[k].cuts,
				    .rewraps_caret = cases[k].tmux,
				    .is_xterm_js = cases[k].xterm_js };
		struct styled rows[3] = { 0 };
		AUTO_BUF struct buf out = { 0 }, after = { 0 };
		for (size_t i = 0; i < 3; i++)
			styled_addf(&rows[i], LOOK_PLAIN, "%*s",
				    i == 1 ? 75
				    : i    ? (int)MAX(cases[k].caret, 10u)
					   : 10,
				    "x");
		region_draw(&r, rows, 3, 2, cases[k].caret, STR(""), &out);
		region_resize(&r, 40, 24, cases[k].answer, &after);
		CHECK_STR(buf_str(&after), cases[k].bytes);
		for (size_t i = 0; i < 3; i++)
			styled_release(&rows[i]);
		region_release(&r);
	}
}

enum kind { WRAPS, CUTS, CLEARS };

/* As terminals do it: rows wrap again with wide characters whole and the cursor at its character; or are cut; or are gone. */
static void terminal_resize(struct terminal *t, enum kind kind, unsigned columns)
{
	struct terminal *old = xcalloc(1, sizeof *old);
	unsigned rows = 0;

	*old = *t;
	memset(t->cells, ' ', sizeof t->cells);
	if (kind == CLEARS)
		t->row = t->column = 0;
	for (unsigned i = 0; kind != CLEARS && i < 40; i++, rows++) {
		unsigned used = COLUMNS, column = 0;
		while (used && old->cells[i][used - 1] == ' ')
			used--;
		for (unsigned at = 0; at < used; at++) {
			if (column + (old->cells[i][at] == 'W') >= columns && kind == WRAPS) {
				rows++;
				column = 0;
			}
			if (i == old->row && at == old->column) {
				t->row = rows;
				t->column = column;
			}
			if (column < columns)
				t->cells[rows][column++] = old->cells[i][at];
		}
		if (i == old->row && old->column >= used) { /* behind the text */
			t->row = rows;
			t->column = MIN(column + old->column - used, columns - 1);
		}
	}
	free(old);
}

#define WIDE5 "\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5"

static const struct knowing {
	enum kind kind;
	bool cuts, tmux; /* what the region knows */
	bool is_told;    /* else only a row of the cursor that was cut tells it */
} terminals[] = {
	{ WRAPS, false, true, true },  { WRAPS, false, false, true }, { CUTS, true, false, true },
	{ CUTS, false, false, false }, { CLEARS, true, false, true }, { CLEARS, false, true, true },
};

/* Draws the rows, with the cursor behind one of them, and others after the window had two sizes. */
static void resize_twice(const struct knowing *k, const char *const content[3], size_t caret_row, unsigned between,
			 unsigned columns)
{
	struct terminal *t = xcalloc(1, sizeof *t);
	struct region r = { .columns = COLUMNS, .rows = 24, .cuts = k->cuts, .rewraps_caret = k->tmux };
	struct styled rows[3] = { 0 };
	AUTO_BUF struct buf out = { 0 }, after = { 0 };
	unsigned used = 0, kept = k->kind == CLEARS ? 0 : FINISHED;

	memset(t->cells, ' ', sizeof t->cells);
	for (size_t i = 0; i < 3; i++)
		styled_add(&rows[i], LOOK_PLAIN, str_from(content[i]));
	unsigned caret = cells_width(buf_str(&rows[caret_row].text));
	region_draw(&r, rows, 3, caret_row, caret, STR("done 0\r\ndone 1\r\ndone 2\r\ndone 3\r\n"), &out);
	terminal_write(t, buf_str(&out));
	if (k->kind != WRAPS) /* a terminal that wraps keeps its lines: only the last size counts */
		terminal_resize(t, k->kind, MIN(between, COLUMNS));
	terminal_resize(t, k->kind, MIN(columns, COLUMNS));
	unsigned column = caret >= columns ? t->column : REGION_COLUMN_UNKNOWN;
	region_resize(&r, columns, 24, column, &after);
	for (size_t i = 0; i < 3; i++)
		styled_add(&rows[i], LOOK_PLAIN, (struct str){ &"abc"[i], 1 });
	region_draw(&r, rows, 3, 2, 1, STR(""), &after);
	terminal_write(t, buf_str(&after));
	for (unsigned i = 0; i < 60; i++)
		for (unsigned j = 0, seen = 0; j < COLUMNS && !seen; j++)
			used += seen = t->cells[i][j] != ' ';
	bool is_told = k->is_told || (caret >= columns && between >= columns);
	for (unsigned i = 0; is_told && i < kept; i++)
		CHECK(t->cells[i][5] == (char)('0' + i) && !memcmp(t->cells[i], "done", 4));
	if (is_told && (column + 1 != columns || k->tmux || k->cuts)) /* at the edge a row may stay */
		CHECK_INT(used, kept + 3);
	for (size_t i = 0; i < 3; i++)
		styled_release(&rows[i]);
	region_release(&r);
	free(t);
}

TEST(behind_any_resize_the_region_is_there_once_below_what_is_finished)
{
	static const char *const contents[][3] = {
		{ "short", "also short", "end" },
		{ "| a table | with a row |", "|---|---|", "> x" },
		{ "a line of code that is as long as it is", "x", "> the cursor is behind a long row" },
		{ "a" WIDE5 WIDE5 WIDE5 "b", "x", "> y" },
		{ "x", "y", "> z" WIDE5 WIDE5 WIDE5 "b" },
		{ WIDE5 WIDE5 WIDE5 "abc", "ab" WIDE5 WIDE5 "c", "> " WIDE5 WIDE5 WIDE5 },
	};

	for (size_t k = 0; k < COUNT_OF(terminals); k++)
		for (size_t i = 0; i < COUNT_OF(contents) * 2; i++)
			for (unsigned columns = 8; columns < 44; columns++)
				for (unsigned between = 8; between < 60; between += 17)
					resize_twice(&terminals[k], contents[i / 2], i % 2 ? 2 : 0, between, columns);
}

TEST(clusters_are_as_wide_as_the_terminal_said)
{
	static const char *const clusters[] = {
		"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", /* thumb with a skin tone */
		"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6", /* family */
		"\xe2\x9d\xa4\xef\xb8\x8f",                     /* heart with VS16 */
		"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", /* programmer */
		"\xf0\x9f\x98\x80",                             /* a face */
		"\xe6\x97\xa5",                                 /* CJK */
		"e\xcc\x81",                                    /* e with an accent */
	};
	static const struct {
		unsigned answers[WIDTH_PROBES];
		bool known;
		unsigned widths[COUNT_OF(clusters)];
	} cases[] = {
		{ { 4, 8, 1 }, true, { 4, 8, 1, 4, 2, 2, 1 } },  { { 2, 4, 1 }, true, { 2, 4, 1, 2, 1, 2, 1 } },
		{ { 4, 2, 1 }, true, { 4, 2, 1, 2, 2, 2, 1 } },  { { 2, 2, 2 }, true, { 2, 2, 2, 2, 2, 2, 1 } },
		{ { 0, 8, 1 }, false, { 2, 2, 2, 2, 2, 2, 1 } }, { { 3, 3, 3 }, false, { 2, 2, 2, 2, 2, 2, 1 } },
		{ { 4, 4, 1 }, false, { 2, 2, 2, 2, 2, 2, 1 } },
	};

	for (size_t k = 0; k < COUNT_OF(cases); k++) {
		CHECK_INT(width_learn(cases[k].answers), cases[k].known);
		for (size_t i = 0; i < COUNT_OF(clusters); i++)
			CHECK_INT(cells_width(str_from(clusters[i])), cases[k].widths[i]);
	}
	CHECK(width_learn(cases[0].answers)); /* as it was */
}

TEST(behind_a_cluster_that_is_not_plain_the_row_is_placed)
{
	struct region r = { .columns = 80, .rows = 24 };
	struct styled row = { 0 };
	AUTO_BUF struct buf out = { 0 };

	styled_add(&row, LOOK_PLAIN,
		   STR("a\xf0\x9f\x98\x80"
		       "b\xe6\x97\xa5"
		       "c\xe2\x9d\xa4\xef\xb8\x8f"
		       "d"));
	region_draw(&r, &row, 1, 0, 9, STR(""), &out);
	CHECK_STR(buf_str(&out), "\033[?2026ha\xf0\x9f\x98\x80\033[4Gb\xe6\x97\xa5"
				 "c\xe2\x9d\xa4\xef\xb8\x8f\033[9Gd\033[?2026l");
	styled_release(&row);
	region_release(&r);
}

TEST(a_styled_text_holds_no_character_that_acts_on_the_terminal)
{
	static const char *const texts[][2] = {
		{ "\033]0;x\a", "\\x1b]0;x\\x07" },
		{ "a\xc2\x9b"
		  "2Jb",
		  "a\\u009b2Jb" },
		{ "\xe2\x80\xae"
		  "x",
		  "\\u202ex" },
		{ "\x7f\b\r", "\\x7f\\x08\\x0d" },
		{ "a\tb\nc\xc3\xa4", "a\tb\nc\xc3\xa4" },
		{ "\x9b"
		  "2J",
		  "\xef\xbf\xbd"
		  "2J" },
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO_STYLED struct styled s = { 0 };
		styled_addf(&s, LOOK_PLAIN, "%s", texts[i][0]);
		CHECK_STR(buf_str(&s.text), texts[i][1]);
		CHECK_INT(s.looks.n, s.text.n);
	}
}

int test_region(void)
{
	return RUN_TESTS(T(the_terminal_shows_what_is_meant_and_keeps_what_is_above),
			 T(a_letter_at_the_end_of_the_line_costs_one_byte),
			 T(a_narrower_window_never_takes_a_row_above_the_region),
			 T(behind_any_resize_the_region_is_there_once_below_what_is_finished),
			 T(clusters_are_as_wide_as_the_terminal_said),
			 T(behind_a_cluster_that_is_not_plain_the_row_is_placed),
			 T(a_styled_text_holds_no_character_that_acts_on_the_terminal));
}
