/* SPDX-License-Identifier: MIT
 * test_editor.c - bytes of a terminal become a text and a cursor. */
#include <locale.h>
#include "test_cli.h"
#include "lib/base/utf8.h"
#include "face/cli/editor.h"

/* The text with the cursor as a bar, and a letter for each event. */
static void type_pieces(struct editor *e, struct str keys, size_t cut, struct buf *out)
{
	static const char letters[] = {
		[EDITOR_ENTER] = 'N', [EDITOR_END] = 'D', [EDITOR_FULL] = 'F', [EDITOR_REDRAW] = 'L'
	};

	for (size_t i = 0, end = cut; i < keys.n; end = keys.n) {
		for (enum editor_event event; i < end;) {
			i += editor_feed(e, keys.p + i, end - i, &event);
			if (event != EDITOR_MORE)
				buf_addch(out, letters[event]);
		}
	}
	buf_add(out, buf_str(&e->text).p, e->cursor);
	buf_addch(out, '|');
	buf_add(out, buf_str(&e->text).p + e->cursor, e->text.n - e->cursor);
}

static void add_some_history(struct editor *e)
{
	editor_add_history(e, STR("older"));
	editor_add_history(e, STR("newer"));
	editor_add_history(e, STR("newer"));
}

#define PASTE(text) "\033[200~" text "\033[201~"

static const struct {
	const char *keys, *expected;
} cases[] = {
	{ "abc", "abc|" },
	{ "abc\033[D", "ab|c" },
	{ "abc\033OD\033OC", "abc|" },
	{ "abc\x02\x02X", "aX|bc" },
	{ "abc\x02\x02\x02\x02\x06Y", "aY|bc" },
	{ "abc\x01X\x05Z", "XabcZ|" },
	{ "abc\033[HX\033[FZ", "XabcZ|" },
	{ "abc\033OHX\033OFZ", "XabcZ|" },
	{ "abc\033[1~X\033[4~Z", "XabcZ|" },
	{ "abc\033[7~X\033[8~Z", "XabcZ|" },
	{ "abc\x7f\x08", "a|" },
	{ "\x7f\x08\033[3~", "|" },
	{ "abc\x01\033[3~", "|bc" },
	{ "abc\x01\x04", "|bc" },
	{ "\x04", "D|" },
	{ "abc\r", "Nabc|" },
	{ "abc\n", "Nabc|" },
	{ "abc\x0c", "Labc|" },
	{ "ab cd-ef\033b\033b", "ab |cd-ef" },
	{ "ab cd-ef\033[1;5D\033[1;3D", "ab |cd-ef" },
	{ "ab cd\x01\033f", "ab| cd" },
	{ "ab cd\x01\033[1;5C\033[1;3C", "ab cd|" },
	{ "ab cd-ef\x17", "ab |" },
	{ "ab cd-ef  \x17", "ab |" },
	{ "ab cd-ef\033\x7f", "ab cd-|" },
	{ "ab cd-ef\033\x08", "ab cd-|" },
	{ "ab cd\x01\033d", "| cd" },
	{ "abcd\x02\x02\x0b", "ab|" },
	{ "abcd\x02\x02\x15", "|cd" },
	{ "abcd\x02\x02\x15\x05\x19\x19", "cdabab|" },
	{ "ab\x17\x15\x19", "ab|" }, /* a kill of nothing keeps what was killed */
	{ "\x19", "|" },
	/* history, with the draft kept */
	{ "dra\x10", "newer|" },
	{ "dra\033[A\033[A", "older|" },
	{ "dra\033OA\033OA\033OA", "older|" },
	{ "dra\x10\x10\x0e", "newer|" },
	{ "dra\x10\x10\x0e\033[B", "dra|" },
	{ "dra\x10\033OB\x0e", "dra|" },
	{ "\x10!\r", "Nnewer!|" },
	/* several lines */
	{ "ab\033\rcd", "ab\ncd|" },
	{ "ab\033\ncd", "ab\ncd|" },
	{ "ab\033\rcd\x01X", "ab\nX|cd" },
	{ "abc\033\rd\033[A", "a|bc\nd" },
	{ "a\033\rbcd\x10\x05\x0e", "a\nb|cd" },
	{ "a\033\rb\x10\x10", "newer|" },
	{ "ab\033\rcd\x15\x15\x15", "|" },
	{ "ab\033\rcd\x10\x01\x0b\x0b", "|cd" },
	/* characters of several bytes and several code points */
	{ "gr\xc3\xbc\x7f", "gr|" },
	{ "\xe6\x97\xa5\xe6\x9c\xac\033[D", "\xe6\x97\xa5|\xe6\x9c\xac" },
	{ "ae\xcc\x81\x7f", "a|" }, /* e with a combining accent */
	{ "ae\xcc\x81\x02\x02\x06", "a|e\xcc\x81" },
	{ "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\x02x", "x|\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb" },
	{ "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\x7f", "|" }, /* thumb with a skin tone */
	/* not UTF-8 */
	{ "a\xff"
	  "b",
	  "a\xef\xbf\xbd"
	  "b|" },
	{ "a\xc3(", "a\xef\xbf\xbd(|" },
	{ "a\x80", "a\xef\xbf\xbd|" },
	{ "a\xe2\x82\r", "Na\xef\xbf\xbd|" },
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|" },
	{ "\033\xc3\xbc", "\xc3\xbc|" },
	/* sequences that mean nothing here */
	{ "a\033[15~b\033[1;2Pc\033[[Ad\033Oze", "abcde|" },
	{ "a\033[38;2;1;2;3;4;5;6;7;8;9;10;11;12mb", "ab|" },
	{ "a\033xb", "ab|" },
	{ "a\033\033[Db", "b|a" },
	{ "a\033[\rb", "Nab|" },
	{ "a\t\x1e\x11"
	  "b",
	  "ab|" },
	/* pastes */
	{ PASTE("a\rb\nc\r\nd"), "a\nb\nc\nd|" },
	{ PASTE("\x04\x01\x7f\033[D"), "\x04\x01\x7f\033[D|" },
	{ "x" PASTE("") "y", "xy|" },
	{ PASTE("\033[20\033[201\033"), "\033[20\033[201\033|" },
	{ "ac\x02" PASTE("b\n") "\r", "Nab\n|c" },
	{ PASTE("gr\xc3"), "gr\xef\xbf\xbd|" },
	{ PASTE("\r\r\n"), "\n\n|" },
};

TEST(each_key_does_what_it_should_wherever_its_bytes_are_cut)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str keys = str_from(cases[i].keys);
		for (size_t cut = 1; cut <= keys.n; cut++) {
			AUTO_BUF struct buf out = { 0 };
			struct editor e = { 0 };
			add_some_history(&e);

			type_pieces(&e, keys, cut, &out);

			if (!str_is(buf_str(&out), cases[i].expected))
				fail_msg("case %zu cut at %zu: '%s', not '%s'", i, cut, out.p, cases[i].expected);
			CHECK_INT(e.sequence_n, 0);
			editor_release(&e);
		}
	}
}

TEST(an_escape_key_alone_is_over_when_nothing_follows_it)
{
	AUTO_BUF struct buf out = { 0 };
	struct editor e = { 0 };
	enum editor_event event;

	editor_feed(&e, "a\033", 2, &event);
	editor_settle(&e);
	editor_feed(&e, "b\033[", 3, &event);
	editor_settle(&e); /* half a sequence is no key */
	type_pieces(&e, STR("Dc"), 1, &out);

	CHECK_STR(buf_str(&out), "ac|b");
	editor_release(&e);
}

TEST(what_does_not_fit_is_left_out_and_said)
{
	AUTO_BUF struct buf paste = { 0 };
	struct editor e = { 0 };
	enum editor_event event;

	buf_reserve(&paste, EDITOR_LIMIT_BYTES);
	memset(paste.p, 'x', EDITOR_LIMIT_BYTES - 1);
	paste.n = EDITOR_LIMIT_BYTES - 1;
	CHECK(editor_insert(&e, buf_str(&paste)));
	CHECK_INT(editor_feed(&e, PASTE("zz") "y", 15, &event), 14);
	CHECK_INT(event, EDITOR_FULL);
	CHECK_INT(editor_feed(&e, "yyq", 1, &event), 1);
	CHECK_INT(event, EDITOR_MORE);
	CHECK_INT(e.text.n, EDITOR_LIMIT_BYTES);
	CHECK_INT(e.text.p[e.text.n - 1], 'y');
	editor_feed(&e, "\xc3\xbc", 2, &event);
	CHECK_INT(event, EDITOR_FULL);
	editor_feed(&e, "\033\r", 2, &event);
	CHECK_INT(event, EDITOR_FULL);

	/* a paste that is longer than all does not stay in memory either, and its end is found */
	editor_clear(&e);
	editor_feed(&e, "\033[200~", 6, &event);
	for (int i = 0; i < 3; i++)
		editor_feed(&e, paste.p, paste.n, &event);
	CHECK(e.pasted.n <= EDITOR_LIMIT_BYTES);
	editor_feed(&e, "\033[201~", 6, &event);
	CHECK_INT(event, EDITOR_FULL);
	CHECK_INT(e.text.n, 0);
	editor_feed(&e, "k", 1, &event);
	CHECK_STR(buf_str(&e.text), "k");
	editor_release(&e);
}

TEST(the_history_keeps_the_latest_lines)
{
	AUTO_BUF struct buf out = { 0 };
	struct editor e = { 0 };
	char line[16];

	for (int i = 0; i < EDITOR_HISTORY_LINES + 10; i++) {
		snprintf(line, sizeof line, "%d", i);
		editor_add_history(&e, str_from(line));
	}
	for (int i = 0; i < EDITOR_HISTORY_LINES + 5; i++) {
		buf_clear(&out);
		type_pieces(&e, STR("\x10"), 1, &out);
	}
	CHECK_STR(buf_str(&out), "10|");
	editor_release(&e);
}

const struct test_group editor_tests =
	GROUP(T(each_key_does_what_it_should_wherever_its_bytes_are_cut),
	      T(an_escape_key_alone_is_over_when_nothing_follows_it), T(what_does_not_fit_is_left_out_and_said),
	      T(the_history_keeps_the_latest_lines));
