/* SPDX-License-Identifier: MIT
 * test_draft.c - the text that is being typed. */
#include "test_tui.h"
#include "face/draft/draft.h"
#include "face/screen/paint.h"
#include "lib/base/utf8.h"

TEST(moves_and_kills_are_those_of_readline)
{
	struct draft d = { 0 };

	draft_type(&d, STR("one two-three four"));
	draft_kill(&d, MOVE_WORD_LEFT);
	CHECK_STR(buf_str(&d.text), "one two-three ");
	draft_kill(&d, MOVE_WORD_LEFT); /* joins the kill before */
	CHECK_STR(buf_str(&d.text), "one two-");
	draft_move(&d, MOVE_LINE_START);
	draft_yank(&d);
	CHECK_STR(buf_str(&d.text), "three fourone two-");
	draft_move(&d, MOVE_WORD_RIGHT);
	draft_kill(&d, MOVE_LINE_END);
	CHECK_STR(buf_str(&d.text), "three fourone");
	draft_yank(&d);
	draft_yank_older(&d);
	CHECK_STR(buf_str(&d.text), "three fouronethree four");
	draft_release(&d);
}

TEST(the_cursor_stands_between_clusters)
{
	/* e with an accent of its own, a flag of two letters, a family of joined people */
	const char *text = "e\xcc\x81"
			   "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"
			   "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"
			   "x";
	struct draft d = { 0 };
	size_t steps = 0;

	draft_type(&d, str_from(text));
	while (d.cursor) {
		draft_move(&d, MOVE_LEFT);
		steps++;
	}
	CHECK_INT(steps, 4);
	draft_delete(&d, MOVE_RIGHT);
	CHECK_INT(d.text.n, strlen(text) - 3);
	draft_release(&d);
}

TEST(every_change_can_be_undone_in_its_order)
{
	struct draft d = { 0 };
	char states[64][64];
	unsigned seed = 17, count = 0;

	for (unsigned i = 0; i < 2000; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned what = seed >> 16 & 7;
		if (count < 60 && what < 5 && d.text.n < 40) {
			snprintf(states[count++], sizeof states[0], STR_FMT, STR_ARG(buf_str(&d.text)));
			d.cursor = d.text.n ? (seed >> 8) % (d.text.n + 1) : 0;
			if (what < 3 || !d.text.n)
				draft_replace(&d, d.cursor, d.cursor, what ? STR("ab") : STR("c"));
			else
				draft_replace(&d, d.cursor / 2, d.cursor / 2 + (d.text.n - d.cursor / 2 + 1) / 2,
					      STR("z"));
		} else if (count) {
			draft_undo(&d);
			CHECK_STR(buf_str(&d.text), states[--count]);
		}
	}
	draft_release(&d);
}

TEST(a_long_paste_is_one_character_that_is_sent_whole)
{
	struct draft d = { 0 };
	AUTO_BUF struct buf long_text = { 0 }, sent = { 0 };

	for (int i = 0; i < 1000; i++)
		buf_addf(&long_text, "line %d\n", i);
	draft_type(&d, STR("see "));
	CHECK(draft_paste(&d, STR("short")));
	CHECK(draft_paste(&d, buf_str(&long_text)));
	draft_type(&d, STR(" end"));
	CHECK_CSTR(draft_mark_at(&d, 9), "paste 1: 1000 lines, 8.7KB");
	CHECK_INT(d.text.n, strlen("see short") + 4 + strlen(" end"));
	draft_expand(&d, &sent);
	CHECK_INT(sent.n, strlen("see short") + long_text.n + strlen(" end"));
	draft_move(&d, MOVE_WORD_LEFT);
	draft_move(&d, MOVE_LEFT);
	draft_delete(&d, MOVE_LEFT);
	CHECK_STR(buf_str(&d.text), "see short end");
	CHECK(draft_paste(&d, STR("\xf3\xb0\x80\x80"))); /* a character that looks like a mark is none */
	CHECK(!draft_mark_at(&d, d.cursor - 3));
	draft_release(&d);
}

TEST(the_history_keeps_the_line_that_was_left_for_it)
{
	struct draft d = { 0 };

	draft_add_history(&d, STR("first"));
	draft_add_history(&d, STR("second"));
	draft_add_history(&d, STR("second"));
	CHECK_INT(d.history_count, 2);
	draft_type(&d, STR("new"));
	CHECK(draft_older(&d) && draft_older(&d) && !draft_older(&d));
	CHECK_STR(buf_str(&d.text), "first");
	CHECK(draft_newer(&d) && draft_newer(&d) && !draft_newer(&d));
	CHECK_STR(buf_str(&d.text), "new");
	draft_release(&d);
}

TEST(rows_break_at_blanks_and_never_inside_a_cluster)
{
	struct str s = STR("one two three\nfour fivesixseven \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e");
	static const char *const rows[] = { "one two",  "three", "four",
					    "fivesixs", "even",  "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e" };
	size_t i = 0, next;

	for (size_t from = 0; from < s.n; from = next, i++) {
		size_t end = cells_wrap(s, from, 8, &next);
		CHECK(i < COUNT_OF(rows));
		CHECK_STR(((struct str){ s.p + from, end - from }), rows[i]);
	}
	CHECK_INT(i, COUNT_OF(rows));
	CHECK_INT(cells_width(STR("\xe6\x97\xa5x")), 3);
}

int test_draft(void)
{
	return RUN_TESTS(
		T(moves_and_kills_are_those_of_readline), T(the_cursor_stands_between_clusters),
		T(every_change_can_be_undone_in_its_order), T(a_long_paste_is_one_character_that_is_sent_whole),
		T(the_history_keeps_the_line_that_was_left_for_it), T(rows_break_at_blanks_and_never_inside_a_cluster));
}
