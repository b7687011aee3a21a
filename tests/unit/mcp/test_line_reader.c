/* SPDX-License-Identifier: MIT
 * test_line_reader.c - lines of a stranger: line ends, splits, the limit. */
#include "mcp/transport/line_reader.h"
#include "tests.h"
#include "unit.h"

static void note(void *data, struct str line, bool cut)
{
	buf_addf(data, "[" STR_FMT "%s]", STR_ARG(line), cut ? "..." : "");
}

TEST(lines_are_the_same_however_the_stream_is_split)
{
	static const struct {
		const char *stream, *lines;
	} table[] = {
		{ "", "" },
		{ "a\nbc\n", "[a][bc]" },
		{ "a\r\n\r\n\nb\n", "[a][][][b]" },
		{ "a\nrest", "[a][rest]" },
		{ "12345678\n1\n", "[12345678][1]" },
		{ "123456789\n1\n", "[12345678...][1]" },
		{ "123456789 and much more of it\n1\n", "[12345678...][1]" },
		{ "1\n123456789 and no end", "[1][12345678...]" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct str stream = str_from(table[i].stream);
		for (size_t piece = 1; piece <= stream.n + 1; piece++) {
			AUTO_BUF struct buf seen = { 0 };
			struct line_reader r = { .limit_bytes = 8, .line = note, .data = &seen };
			for (size_t at = 0; at < stream.n; at += piece)
				line_reader_feed(&r, stream.p + at, MIN(piece, stream.n - at));
			line_reader_end(&r);
			CHECK_STR(buf_str(&seen), table[i].lines);
			line_reader_release(&r);
		}
	}
}

int test_line_reader(void)
{
	return RUN_TESTS(T(lines_are_the_same_however_the_stream_is_split));
}
