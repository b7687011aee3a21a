/* SPDX-License-Identifier: MIT
 * test_markdown.c - Markdown as lines, and which part of a growing text is complete. */
#include "test_tui.h"
#include "face/screen/markdown.h"

TEST(blocks_become_lines)
{
	static const struct {
		unsigned columns;
		const char *text, *lines;
	} cases[] = {
		{ 80, "plain words", "plain words\n" },
		{ 10, "plain words that wrap", "plain\nwords that\nwrap\n" },
		{ 80, "# Head\n\ntext\n\nmore", "Head\n\ntext\n\nmore\n" },
		{ 80, "- one\n- two\n  - deep\n- three", "• one\n• two\n  • deep\n• three\n" },
		{ 80, "3. three\n4. four", "3. three\n4. four\n" },
		{ 80, "- one\n  - deep\n\ntext\n\n1. two\n\n> said", "• one\n  • deep\n\ntext\n\n1. two\n\n▎ said\n" },
		{ 12, "- a long item that wraps", "• a long\n  item that\n  wraps\n" },
		{ 80, "> said\n> twice", "▎ said twice\n" },
		{ 20, "```c\nint a_very_long_line_that_stays_whole;\n```",
		  "c\nint a_very_long_line_that_stays_whole;\n" },
		{ 80, "a [link](http://x.y) and <b>html</b>", "a link (http://x.y) and <b>html</b>\n" },
		{ 80, "- [x] done\n- [ ] open", "• ☑ done\n• ☐ open\n" },
		{ 80, "| a | bb |\n|---|---|\n| 1 | 2 |", "│ a   │ bb  │\n├─────┼─────┤\n│ 1   │ 2   │\n" },
		{ 80, "| name | x |\n|---|---|\n| 日本語 | 1 |",
		  "│ name   │ x   │\n├────────┼─────┤\n│ 日本語 │ 1   │\n" },
		{ 62, "| k | text |\n|---|---|\n| a | one two three four five six seven eight nine ten eleven twelve |",
		  "│ k   │ text                                                 │\n"
		  "├─────┼──────────────────────────────────────────────────────┤\n"
		  "│ a   │ one two three four five six seven eight nine ten     │\n"
		  "│     │ eleven twelve                                        │\n" },
		{ 20, "| key | value |\n|---|---|\n| one | a long cell of it |",
		  "key: one\nvalue: a long cell\nof it\n" },
		{ 0, "| key | value |\n|---|---|\n| one | a **b** |\n| two | |",
		  "key: one, value: a b.\nkey: two, value: .\n" },
		{ 80, "| l | right | mid |\n|:--|--:|:-:|\n| a | 12 | m |",
		  "│ l   │ right │ mid │\n├─────┼───────┼─────┤\n│ a   │    12 │  m  │\n" },
		{ 80, "> | a | b |\n> |---|---|\n> | 1 | 2 |", "▎ │ a   │ b   │\n▎ ├─────┼─────┤\n▎ │ 1   │ 2   │\n" },
		{ 80, "a &amp; b &lt; c &#65;&#x42; &rarr; &nosuch; &#0; &#27;[2J &#xd800; `&amp;`",
		  "a & b < c AB → &nosuch; \xef\xbf\xbd \\x1b[2J \xef\xbf\xbd &amp;\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_STYLED struct styled out = { 0 };
		markdown_render(str_from(cases[i].text), cases[i].columns, cases[i].columns > 0, &out);
		CHECK_STR(buf_str(&out.text), cases[i].lines);
	}
}

TEST(a_heading_stays_bold_behind_what_is_bold_in_it)
{
	AUTO_STYLED struct styled out = { 0 };

	markdown_render(STR("## A **part** of it\n\nno **more** of it"), 80, true, &out);
	CHECK_STR(buf_str(&out.text), "A part of it\n\nno more of it\n");
	CHECK(out.looks.p[11] & LOOK_BOLD);
	CHECK(!(out.looks.p[out.text.n - 2] & LOOK_BOLD));
}

TEST(prose_is_left_to_the_terminal_if_wanted_and_tables_are_fitted)
{
	AUTO_STYLED struct styled out = { 0 };

	markdown_render(STR("words that would wrap\n\n| key | value |\n|---|---|\n| one | a long cell of it |"), 12,
			false, &out);
	CHECK_STR(buf_str(&out.text), "words that would wrap\n\nkey: one\nvalue: a long cell of it\n");
}

TEST(a_theme_decides_what_the_colours_are)
{
	static const struct {
		const char *name, *added, *red;
	} cases[] = {
		{ "ansi", "\033[0;32m", "\033[0;31m" },
		{ "dark", "\033[0;48;5;22m", "\033[0;38;5;203m" },
		{ "light", "\033[0;48;5;194m", "\033[0;38;5;160m" },
		{ "dark-daltonized", "\033[0;48;5;17m", "\033[0;38;5;208m" },
		{ "light-daltonized", "\033[0;48;5;153m", "\033[0;38;5;166m" },
		{ "auto", "\033[0;48;5;194m",
		  "\033[0;31m" }, /* differences by the background, which was told to be light */
	};

	theme_set_background(true);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_STYLED struct styled s = { 0 };
		AUTO_BUF struct buf added = { 0 }, red = { 0 };
		styled_add(&s, LOOK_ADDED, STR("a"));
		styled_add(&s, LOOK_RED, STR("r"));
		styled_write(&s, 0, 1, theme_find(str_from(cases[i].name)), &added);
		styled_write(&s, 1, 2, theme_find(str_from(cases[i].name)), &red);
		CHECK(str_starts(buf_str(&added), str_from(cases[i].added)));
		CHECK(str_starts(buf_str(&red), str_from(cases[i].red)));
	}
	static const char *const told[][2] = { { "0;default;15", "\033[0;48;5;194m" }, { "15;0", "\033[0;48;5;22m" } };
	for (size_t i = 0; i < COUNT_OF(told); i++) {
		AUTO_STYLED struct styled s = { 0 };
		AUTO_BUF struct buf added = { 0 };
		setenv("COLORFGBG", told[i][0], 1);
		styled_add(&s, LOOK_ADDED, STR("a"));
		styled_write(&s, 0, 1, theme_find(STR("auto")), &added);
		CHECK(str_starts(buf_str(&added), str_from(told[i][1])));
	}
	unsetenv("COLORFGBG");
}

TEST(an_address_that_a_terminal_may_open_is_a_link)
{
	static const struct {
		const char *markdown, *written;
	} cases[] = {
		{ "[a](https://b.c/d)", "(\033[0;34m\033]8;;https://b.c/d\033\\https://b.c/d\033]8;;\033\\" },
		{ "<http://b.c>", "\033[0;4;34m\033]8;;http://b.c\033\\http://b.c\033]8;;\033\\" },
		{ "[a](javascript:x)", "javascript:x" },
		{ "[a](https://b.c/\u00e9)", "https://b.c/" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_STYLED struct styled s = { 0 };
		AUTO_BUF struct buf with = { 0 }, without = { 0 };
		markdown_render(str_from(cases[i].markdown), 60, true, &s);
		paint_set_links(true);
		styled_write(&s, 0, s.text.n, THEME_ANSI, &with);
		paint_set_links(false);
		styled_write(&s, 0, s.text.n, THEME_ANSI, &without);
		CHECK(memmem(with.p, with.n, cases[i].written, strlen(cases[i].written)) != NULL);
		CHECK_INT(memmem(with.p, with.n, "\033]8;", 4) != NULL, i < 2);
		CHECK(!memmem(without.p, without.n, "\033]8;", 4));
	}
}

TEST(looks_are_those_of_the_spans)
{
	AUTO_STYLED struct styled out = { 0 };
	AUTO_BUF struct buf coloured = { 0 }, plain = { 0 };

	markdown_render(STR("**bold** `code` *it*"), 80, true, &out);
	styled_write(&out, 0, out.text.n - 1, true, &coloured);
	styled_write(&out, 0, out.text.n - 1, false, &plain);
	CHECK_STR(buf_str(&coloured), "\033[0;1mbold\033[0m \033[0;36mcode\033[0m \033[0;3mit\033[0m");
	CHECK_STR(buf_str(&plain), "\033[0;1mbold\033[0m code \033[0;3mit\033[0m");
}

/* A text that grows byte by byte is written in complete blocks; together they are the whole. */
TEST(a_growing_text_is_complete_up_to_a_blank_line_outside_of_code)
{
	static const struct {
		const char *text;
		size_t complete;
	} cases[] = {
		{ "one", 0 },           { "one\n", 0 },        { "one\n\n", 5 },
		{ "one\n\ntwo", 5 },    { "```\na\n\nb", 0 },  { "```\na\n\nb\n```\n", 13 },
		{ "````\n```\n\n", 0 }, { "- a\n\n- b\n", 0 }, { "- a\n\n- b\n\ntext\n", 10 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(markdown_complete(str_from(cases[i].text)), cases[i].complete);
}

TEST(no_byte_of_a_sequence_comes_out)
{
	AUTO_STYLED struct styled out = { 0 };

	markdown_render(STR("a\033[31m `\033]0;x\a` [t](\033c)\n\n```\n\033[2J\n```\n\n| \033 |\n|-|\n| \x9b |\n"), 80,
			true, &out);
	for (size_t i = 0; i < out.text.n; i++)
		CHECK((unsigned char)out.text.p[i] >= 0x20 || out.text.p[i] == '\n');
}

int test_markdown(void)
{
	return RUN_TESTS(T(blocks_become_lines), T(a_heading_stays_bold_behind_what_is_bold_in_it),
			 T(prose_is_left_to_the_terminal_if_wanted_and_tables_are_fitted),
			 T(an_address_that_a_terminal_may_open_is_a_link), T(a_theme_decides_what_the_colours_are),
			 T(looks_are_those_of_the_spans),
			 T(a_growing_text_is_complete_up_to_a_blank_line_outside_of_code),
			 T(no_byte_of_a_sequence_comes_out));
}
