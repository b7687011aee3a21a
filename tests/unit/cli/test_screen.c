/* SPDX-License-Identifier: MIT
 * test_screen.c - what is sent makes a terminal show the line. The terminal is a small one of our own that knows exactly the
 * sequences which screen.c may send, and that wraps and scrolls as real ones do. */
#include <wchar.h>
#include "test_cli.h"
#include "lib/base/utf8.h"
#include "face/cli/editor.h"
#include "face/cli/screen.h"

enum { MAX_COLUMNS = 100, MAX_ROWS = 30 };

struct terminal {
	size_t columns, rows;
	wchar_t cells[MAX_ROWS][MAX_COLUMNS]; /* 0: empty; -1: right half of a wide one */
	size_t row, column;
	bool wrap; /* the last column was written */
	size_t scrolled;
};

static void terminal_feed_line(struct terminal *t)
{
	if (++t->row < t->rows)
		return;
	t->row = t->rows - 1;
	memmove(t->cells[0], t->cells[1], (t->rows - 1) * sizeof t->cells[0]);
	memset(t->cells[t->rows - 1], 0, sizeof t->cells[0]);
	t->scrolled++;
}

static void terminal_put(struct terminal *t, wchar_t c)
{
	int width = wcwidth(c);

	CHECK(width >= 0);
	if (!width)
		return;
	if (t->wrap || t->column + (size_t)width > t->columns) {
		t->column = 0;
		t->wrap = false;
		terminal_feed_line(t);
	}
	t->cells[t->row][t->column] = c == ' ' ? 0 : c;
	if (width == 2)
		t->cells[t->row][t->column + 1] = -1;
	t->column += (size_t)width;
	if (t->column == t->columns) {
		t->column--;
		t->wrap = true;
	}
}

static void terminal_control(struct terminal *t, char final, size_t n)
{
	switch (final) {
	case 'A':
		CHECK(n <= t->row); /* never above what was drawn */
		t->row -= n;
		break;
	case 'G':
		t->column = n - 1;
		break;
	case 'J':
		memset(t->cells[t->row + 1], 0, (t->rows - t->row - 1) * sizeof t->cells[0]);
		/* fall through */
	case 'K':
		CHECK(!t->wrap);
		memset(&t->cells[t->row][t->column], 0, (t->columns - t->column) * sizeof(wchar_t));
		break;
	default:
		fail_msg("a sequence that is not used: %c", final);
	}
	t->wrap = false;
}

static void terminal_write(struct terminal *t, struct str s)
{
	for (size_t i = 0; i < s.n;) {
		uint32_t cp;
		i += utf8_decode(s.p + i, &cp);
		if (cp == '\r' || cp == '\n' || cp == '\b') {
			t->wrap = false;
			if (cp == '\n')
				terminal_feed_line(t);
			t->column = cp == '\r' ? 0 : cp == '\b' && t->column ? t->column - 1 : t->column;
		} else if (cp == 0x1b) {
			size_t n = 0;
			CHECK_INT(s.p[i], '[');
			for (i++; s.p[i] >= '0' && s.p[i] <= '9'; i++)
				n = n * 10 + (size_t)(s.p[i] - '0');
			terminal_control(t, s.p[i++], n);
		} else {
			CHECK(cp >= 0x20 && cp != 0x7f);
			terminal_put(t, (wchar_t)cp);
		}
	}
}

static struct screen make_screen(unsigned columns, unsigned rows)
{
	struct screen s = { 0 };

	screen_set_size(&s, columns, rows);
	return s;
}

static void draw(struct screen *s, struct terminal *t, const struct editor *e)
{
	AUTO_BUF struct buf out = { 0 };

	screen_draw(s, STR("> "), buf_str(&e->text), e->cursor, &out);
	terminal_write(t, buf_str(&out));
}

/* The same text on a screen and a terminal that have seen nothing else must look the same. */
static void check_looks(const struct terminal *t, const struct screen *s, const struct editor *e, unsigned seed)
{
	struct terminal fresh = { .columns = t->columns, .rows = t->rows };
	struct screen other = make_screen((unsigned)t->columns, (unsigned)t->rows);
	AUTO_BUF struct buf out = { 0 };
	size_t top = t->row - s->at_row;

	other.top = s->top; /* which part of a long text is seen depends on where one comes from */
	screen_draw(&other, STR("> "), buf_str(&e->text), e->cursor, &out);
	terminal_write(&fresh, buf_str(&out));
	size_t fresh_top = fresh.row - other.at_row;
	bool same =
		t->column == fresh.column && t->row - top == fresh.row - fresh_top && s->row_count == other.row_count;
	for (size_t i = 0; same && i < s->row_count; i++)
		same = !memcmp(t->cells[top + i], fresh.cells[fresh_top + i], sizeof t->cells[0]);
	for (size_t i = top + s->row_count; same && i < t->rows; i++)
		for (size_t k = 0; k < t->columns; k++)
			same = same && !t->cells[i][k];
	if (!same)
		fail_msg("seed %u: '%s', cursor at %zu, %zu columns", seed, buf_str(&e->text).p, e->cursor, t->columns);
	screen_release(&other);
}

TEST(after_any_keys_the_terminal_looks_as_if_the_text_was_drawn_at_once)
{
	static const char *const keys[] = {
		"a",
		"b",
		" ",
		"wort ",
		"\xc3\xbc",
		"\xe6\x97\xa5",
		"e\xcc\x81",
		"\xf0\x9f\x91\x8d",
		"\xe2\x80\xae",
		"\033\r",
		"\033[200~tab\tand\001\n\nlines\033[201~",
		"\033[D",
		"\033[C",
		"\x01",
		"\x05",
		"\x7f",
		"\x17",
		"\x0b",
		"\x15",
		"\x19",
		"\033[A",
		"\033[B",
		"\033b",
		"\033d",
		"0123456789",
		"xxxxxxxxxxxxxxxxxxxxxxx",
	};
	static const unsigned widths[] = { 1, 2, 3, 7, 20, 80 };

	for (unsigned seed = 0; seed < 300; seed++) {
		struct terminal t = { .columns = widths[seed % COUNT_OF(widths)], .rows = 4 + seed % 20 };
		struct screen s = make_screen((unsigned)t.columns, (unsigned)t.rows);
		struct editor e = { 0 };
		unsigned random = seed;
		enum editor_event event;
		for (int step = 0; step < 60; step++) {
			random = random * 1103515245u + 12345u;
			const char *key = keys[(random >> 16) % COUNT_OF(keys)];
			editor_feed(&e, key, strlen(key), &event);
			draw(&s, &t, &e);
			check_looks(&t, &s, &e, seed);
		}
		AUTO_BUF struct buf out = { 0 };
		screen_erase(&s, &out);
		terminal_write(&t, buf_str(&out));
		CHECK(!t.column);
		for (size_t i = 0; i < t.rows - t.row; i++)
			for (size_t k = 0; k < t.columns; k++)
				CHECK(!t.cells[t.row + i][k]);
		screen_release(&s);
		editor_release(&e);
	}
}

TEST(a_letter_at_the_end_is_one_byte_and_a_wrap_three)
{
	struct screen s = make_screen(40, 24);
	struct terminal t = { .columns = 40, .rows = 24 };
	struct editor e = { 0 };

	draw(&s, &t, &e);
	for (size_t i = 0; i < 400; i++) {
		AUTO_BUF struct buf out = { 0 };
		CHECK(editor_insert(&e, STR("x")));
		screen_draw(&s, STR("> "), buf_str(&e.text), e.cursor, &out);
		if (s.top == 0)
			CHECK_INT(out.n, (e.text.n + 2) % 40 ? 1 : 3);
	}
	screen_release(&s);
	editor_release(&e);
}

TEST(a_finished_text_stays_and_a_long_one_is_cut)
{
	struct screen s = make_screen(20, 12);
	AUTO_BUF struct buf text = { 0 }, out = { 0 };

	screen_finish(&s, STR("> "), STR("one\ntwo"), &out);
	CHECK_STR(buf_str(&out), "> one\r\ntwo\r\n");
	for (int i = 0; i < 100; i++)
		buf_addf(&text, "%d\n", i);
	buf_clear(&out);
	screen_draw(&s, STR("> "), buf_str(&text), text.n, &out);
	buf_clear(&out);
	screen_finish(&s, STR("> "), buf_str(&text), &out);
	CHECK(str_ends(buf_str(&out), STR("19\r\n... 0.2KB more\r\n")));
	CHECK(!s.shown);
	screen_release(&s);
}

TEST(a_terminal_that_cannot_move_its_cursor_gets_no_sequences)
{
	static const struct {
		const char *keys, *sent;
	} steps[] = {
		{ "abc", "> abc" },       { "\x7f", "\b \b" },      { "\xe6\x97\xa5", "\xe6\x97\xa5" },
		{ "\x7f", "\b \b\b \b" }, { "\x01", "\b \b\b \b" }, { "X", "X" },
		{ "\033\r", "\r\n" },
	};
	struct screen s = make_screen(20, 12);
	struct editor e = { 0 };
	AUTO_BUF struct buf out = { 0 };
	enum editor_event event;

	s.dumb = true;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		buf_clear(&out);
		editor_feed(&e, steps[i].keys, strlen(steps[i].keys), &event);
		screen_draw(&s, STR("> "), buf_str(&e.text), e.cursor, &out);
		CHECK_STR(buf_str(&out), steps[i].sent);
	}
	buf_clear(&out);
	screen_finish(&s, STR("> "), buf_str(&e.text), &out);
	CHECK_STR(buf_str(&out), "ab\r\n");
	screen_release(&s);
	editor_release(&e);
}

const struct test_group screen_tests =
	GROUP(T(after_any_keys_the_terminal_looks_as_if_the_text_was_drawn_at_once),
	      T(a_letter_at_the_end_is_one_byte_and_a_wrap_three), T(a_finished_text_stays_and_a_long_one_is_cut),
	      T(a_terminal_that_cannot_move_its_cursor_gets_no_sequences));
