/* SPDX-License-Identifier: MIT
 * test_draft.c - the text that is being typed. */
#include "test_tui.h"
#include "face/draft/draft.h"
#include "face/draft/image.h"
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
	CHECK(draft_paste(&d, STR("\xf4\x88\x80\x80"))); /* a character that looks like a mark is none */
	CHECK(!draft_mark_at(&d, d.cursor - 3));
	draft_release(&d);
}

TEST(private_characters_are_sent_as_they_are_pasted)
{
	/* icons of fonts, from the private planes; in a long paste also what our marks look like */
	static const char icons[] = "\xf3\xb0\x80\x80 \xf3\xb1\xab\xb0 \xf4\x80\x80\x80";
	AUTO_BUF struct buf lines = { 0 }, sent = { 0 };
	struct draft d = { 0 };

	CHECK(draft_paste(&d, str_from(icons)));
	draft_type(&d, STR("\xf3\xb0\x80\x80"));
	draft_expand(&d, &sent);
	CHECK_INT(sent.n, strlen(icons) + 4);
	CHECK_INT(memcmp(sent.p, icons, strlen(icons)), 0);
	CHECK_INT(memcmp(sent.p + strlen(icons), icons, 4), 0);
	draft_clear(&d);
	buf_clear(&sent);
	for (int i = 0; i < 5; i++)
		buf_addf(&lines, "%s \xf4\x88\x80\x80\n", icons);
	CHECK(draft_paste(&d, buf_str(&lines)));
	CHECK_CSTR(draft_mark_at(&d, 0), "paste 1: 5 lines, 100 bytes");
	draft_expand(&d, &sent);
	CHECK_STR(buf_str(&sent), lines.p);
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

TEST(a_file_is_a_mark_with_a_block)
{
	struct draft d = { 0 };
	AUTO_BUF struct buf sent = { 0 }, blocks = { 0 };

	CHECK(draft_attach(&d, STR("image 1: 2x3"), STR("{\"type\":\"image\"}")));
	CHECK(draft_attach(&d, STR("pdf 2: 1KB"), STR("{\"type\":\"document\"}")));
	draft_type(&d, STR(" what is it?"));
	draft_expand(&d, &sent);
	CHECK_STR(buf_str(&sent), "[image 1: 2x3][pdf 2: 1KB] what is it?");
	draft_blocks(&d, &blocks);
	CHECK_STR(buf_str(&blocks), "[{\"type\":\"image\"},{\"type\":\"document\"}]");
	draft_move(&d, MOVE_START);
	draft_delete(&d, MOVE_RIGHT);
	CHECK(draft_stash(&d) && !d.text.n && draft_stash(&d) && !draft_mark_at(&d, 4));
	buf_clear(&blocks);
	draft_blocks(&d, &blocks);
	CHECK_STR(buf_str(&blocks), "[{\"type\":\"document\"}]");
	draft_release(&d);
}

TEST(heads_of_files_are_read_and_paths_as_terminals_write_them)
{
	static const struct {
		struct str bytes;
		const char *type;
		unsigned width, height;
	} heads[] = {
		{ STR("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\2\x80\0\0\1\xe0"), "image/png", 640, 480 },
		{ STR("GIF89a\x0a\0\x14\0"), "image/gif", 10, 20 },
		{ STR("\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x0b\x08\0\x10\0\x20\x01\x01\x11\0"), "image/jpeg", 32, 16 },
		{ STR("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\0\0\x1f\0\0"), "image/webp", 64, 32 },
		{ STR("%PDF-1.4\n"), "application/pdf", 0, 0 },
		{ STR("\x89PNG\r\n\x1a\n"), NULL, 0, 0 },
		{ STR("\xff\xd8\xff\xe0\0\0"), NULL, 0, 0 },
		{ STR("words"), NULL, 0, 0 },
		{ STR(""), NULL, 0, 0 },
	};
	static const char *const paths[][2] = {
		{ "/tmp/a.png", "/tmp/a.png" },
		{ "'/tmp/a b.png' ", "/tmp/a b.png" },
		{ "/tmp/a\\ b.png", "/tmp/a b.png" },
		{ "file:///tmp/a%20b.png", "/tmp/a b.png" },
		{ "file://host/tmp/a.png", "/tmp/a.png" },
		{ "\"x.pdf\"", "x.pdf" },
		{ "word", NULL },
		{ "'/tmp/open", NULL },
		{ "", NULL },
	};
	AUTO_BUF struct buf path = { 0 };

	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		struct image_head head;
		bool known = image_head_of(heads[i].bytes, &head);
		CHECK_INT(known, heads[i].type != NULL);
		if (known)
			CHECK_CSTR(head.media_type, heads[i].type);
		if (known)
			CHECK(head.width == heads[i].width && head.height == heads[i].height);
	}
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct str rest = str_from(paths[i][0]);
		CHECK_INT(image_next_path(&rest, &path), paths[i][1] != NULL);
		if (paths[i][1])
			CHECK_STR(buf_str(&path), paths[i][1]);
	}
}

int test_draft(void)
{
	return RUN_TESTS(
		T(moves_and_kills_are_those_of_readline), T(the_cursor_stands_between_clusters),
		T(every_change_can_be_undone_in_its_order), T(a_long_paste_is_one_character_that_is_sent_whole),
		T(private_characters_are_sent_as_they_are_pasted), T(the_history_keeps_the_line_that_was_left_for_it),
		T(rows_break_at_blanks_and_never_inside_a_cluster), T(a_file_is_a_mark_with_a_block),
		T(heads_of_files_are_read_and_paths_as_terminals_write_them));
}
