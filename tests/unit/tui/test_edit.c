/* SPDX-License-Identifier: MIT
 * test_edit.c - bytes of a terminal become a text and a cursor: keys, their actions, and what those do. */
#include "test_tui.h"
#include "face/draft/draft.h"
#include "face/draft/key.h"

/* The text with the cursor as a bar, and a letter for each action that is not the editor's. */
static void press(struct draft *d, struct keymap *m, const struct key *key, struct buf *out)
{
	enum action action;

	if (key->code == KEY_PASTE) {
		(void)draft_paste(d, key->text);
		return;
	}
	enum keymap_found found =
		keymap_find(m, 1u << CONTEXT_GLOBAL | 1u << CONTEXT_CHAT | 1u << CONTEXT_TASK, key, &action);
	if (found == KEYMAP_ACTION && action == ACTION_EXIT && d->text.n)
		draft_delete(d, MOVE_RIGHT);
	else if (found == KEYMAP_ACTION && action == ACTION_BACKGROUND)
		draft_move(d, MOVE_LEFT);
	else if (found == KEYMAP_ACTION && (action == ACTION_PREVIOUS || action == ACTION_NEXT))
		(void)(draft_move_row(d, action == ACTION_PREVIOUS, 2, 79) ||
		       (action == ACTION_PREVIOUS ? draft_older(d) : draft_newer(d)));
	else if (found == KEYMAP_ACTION && !draft_edit(d, action, true))
		buf_addstr(out, action == ACTION_SUBMIT   ? "N"
				: action == ACTION_EXIT   ? "D"
				: action == ACTION_REDRAW ? "L"
							  : "");
	else if (found == KEYMAP_UNBOUND && key->code == KEY_TEXT && !key->alt)
		(void)draft_type(d, key->text);
}

static void type_pieces(struct draft *d, struct keys *keys, struct str bytes, size_t cut, struct buf *out)
{
	struct keymap m = { 0 };
	struct key key;

	for (size_t i = 0, end = cut; i < bytes.n; end = bytes.n)
		while (i < end) {
			i += keys_feed(keys, bytes.p + i, end - i, &key);
			press(d, &m, &key, out);
		}
	buf_add(out, buf_str(&d->text).p, d->cursor);
	buf_addch(out, '|');
	buf_add(out, buf_str(&d->text).p + d->cursor, d->text.n - d->cursor);
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
	{ "abc\n", "abc\n|" },
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
	{ "ab\033\rcd\x01X", "ab\nX|cd" },
	{ "abc\033\rd\033[A", "a|bc\nd" },
	{ "a\033\rbcd\x10\x05\x0e", "a\nb|cd" },
	{ "a\033\rb\x10\x10", "newer|" },
	{ "ab\033\rcd\x15\x15\x15", "ab\n|" },
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
	{ "\033\xc3\xbc", "|" }, /* Alt and a letter is no text */
	/* sequences that mean nothing here */
	{ "a\033[15~b\033[1;2Pc\033[[Ad\033Oze", "abcde|" },
	{ "a\033[38;2;1;2;3;4;5;6;7;8;9;10;11;12mb", "ab|" },
	{ "a\033xb", "ab|" },
	{ "a\033\033[Db", "b|a" },
	{ "a\033[\rb", "ab|" }, /* a control ends a sequence, and both are dropped */
	{ "a\t\x1e\x11"
	  "b",
	  "ab|" },
	/* pastes */
	{ PASTE("a\rb\r\nc"), "a\nb\nc|" },
	{ PASTE("a\nb"), "a\nb|" },
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
		struct str bytes = str_from(cases[i].keys);
		for (size_t cut = 1; cut <= bytes.n; cut++) {
			AUTO_BUF struct buf out = { 0 };
			struct draft d = { 0 };
			struct keys keys = { 0 };
			draft_add_history(&d, STR("older"));
			draft_add_history(&d, STR("newer"));
			draft_add_history(&d, STR("newer"));

			type_pieces(&d, &keys, bytes, cut, &out);

			if (!str_is(buf_str(&out), cases[i].expected))
				fail_msg("case %zu cut at %zu: '%s', not '%s'", i, cut, out.p, cases[i].expected);
			CHECK_INT(keys.n, 0);
			keys_release(&keys);
			draft_release(&d);
		}
	}
}

TEST(what_does_not_fit_is_left_out_and_said)
{
	AUTO_BUF struct buf text = { 0 };
	struct draft d = { 0 };
	struct keys keys = { 0 };
	struct key key;

	buf_reserve(&text, DRAFT_LIMIT_BYTES);
	memset(text.p, 'x', DRAFT_LIMIT_BYTES - 1);
	text.n = DRAFT_LIMIT_BYTES - 1;
	CHECK(draft_type(&d, buf_str(&text)));
	CHECK(!draft_paste(&d, STR("zz")));
	CHECK(draft_type(&d, STR("y")));
	CHECK(!draft_type(&d, STR("y")));
	CHECK_INT(d.text.n, DRAFT_LIMIT_BYTES);
	draft_release(&d);

	/* a paste that is longer than all does not stay in memory either, and its end is found */
	(void)keys_feed(&keys, "\033[200~", 6, &key);
	for (int i = 0; i < 2; i++)
		(void)keys_feed(&keys, text.p, text.n, &key);
	CHECK(keys.paste_cut && keys.pasted.n <= KEY_PASTE_BYTES);
	(void)keys_feed(&keys, "\033[201~", 6, &key);
	CHECK_INT(key.code, KEY_PASTE);
	(void)keys_feed(&keys, "k", 1, &key);
	CHECK_INT(key.code, KEY_TEXT);
	keys_release(&keys);
}

int test_edit(void)
{
	return RUN_TESTS(T(each_key_does_what_it_should_wherever_its_bytes_are_cut),
			 T(what_does_not_fit_is_left_out_and_said));
}
