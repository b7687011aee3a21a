/* SPDX-License-Identifier: MIT
 * test_render.c - foreign text on a terminal. */
#include "test_cli.h"
#include "face/screen/paint.h"

TEST(nothing_that_acts_on_a_terminal_is_left_in_rendered_text)
{
	static const struct {
		struct str in;
		const char *text;
		const char *line;
	} table[] = {
		{ STR("plain"), "plain", "plain" },
		{ STR(""), "", "" },
		{ STR("a\tb\nc"), "a\tb\nc", "a b c" },
		{ STR("a\r\nb"), "a\nb", "a b" },
		{ STR("a\rb"), "a\\x0db", "a\\x0db" },
		{ STR("end\r"), "end\\x0d", "end\\x0d" },
		{ STR("\033]0;title\007"), "\\x1b]0;title\\x07", "\\x1b]0;title\\x07" },
		{ STR("\033[2J"), "\\x1b[2J", "\\x1b[2J" },
		{ STR("nul\0!"), "nul\\x00!", "nul\\x00!" },
		{ STR("del\x7f"), "del\\x7f", "del\\x7f" },
		{ STR("\xc2\x9b"
		      "31m"),
		  "\\u009b31m", "\\u009b31m" }, /* CSI as one character */
		{ STR("\x9b"
		      "31m"),
		  "\xef\xbf\xbd"
		  "31m",
		  "\xef\xbf\xbd"
		  "31m" }, /* and as one byte */
		{ STR("\xe2\x80\xae"
		      "txt"),
		  "\\u202etxt", "\\u202etxt" },
		{ STR("\xe2\x81\xa6"), "\\u2066", "\\u2066" },
		{ STR("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0"),
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0",
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf line = { 0 };
		render_text(&text, table[i].in);
		render_line(&line, table[i].in);
		CHECK_STR(buf_str(&text), table[i].text);
		CHECK_STR(buf_str(&line), table[i].line);
	}
}

const struct test_group render_tests = GROUP(T(nothing_that_acts_on_a_terminal_is_left_in_rendered_text));
