/* SPDX-License-Identifier: MIT
 * test_read.c - the Read tool. */
#include "unit.h"
#include <sys/stat.h>
#include "tests.h"
#include "toolbox.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

TEST(a_file_comes_as_numbered_lines_with_an_empty_one_after_the_last_line_feed)
{
	BOX(box);
	toolbox_put(&box, "a.txt", "one\ntwo\nthree\n");

	toolbox_run(&box, "Read", "{'file_path':'%s'}", toolbox_path(&box, "a.txt"));

	CHECK_STR(toolbox_text(&box), "1\tone\n2\ttwo\n3\tthree\n4\t");
	CHECK(!box.call->is_error);
	char *object = arena_printf(&box.arena,
				    "{\"type\":\"text\",\"file\":{\"filePath\":\"%s\",\"content\":"
				    "\"one\\ntwo\\nthree\\n\",\"numLines\":4,\"startLine\":1,\"totalLines\":4}}",
				    toolbox_path(&box, "a.txt"));
	CHECK_STR(toolbox_object(&box), object);
}

TEST(results_of_ranges_and_odd_files_are_as_specified)
{
	static const struct {
		const char *bytes, *input, *text;
	} cases[] = {
		{ "a\nb\nc\nd", "'offset':2,'limit':2", "2\tb\n3\tc" },
		{ "a\nb\nc\nd", "'offset':3", "3\tc\n4\td" },
		{ "a\nb", "'offset':0", "1\ta\n2\tb" },
		{ "a\nb", "'limit':1", "1\ta" },
		{ "a\r\nb\r\n", "'limit':9", "1\ta\n2\tb\n3\t" },
		{ "\xef\xbb\xbf"
		  "a",
		  "'limit':9", "1\ta" },
		{ "\xff\xfe"
		  "h\0\xe9\0",
		  "'limit':9", "1\th\xc3\xa9" },
		{ "caf\xe9 ol\xe9\n", "'limit':1", "1\tcaf\xef\xbf\xbd ol\xef\xbf\xbd" },
		{ "", "'limit':9",
		  "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>" },
		{ "a\nb\nc\n", "'offset':99",
		  "<system-reminder>Warning: the file exists but is shorter than the provided offset (99). The file has 4 "
		  "lines.</system-reminder>" },
	};
	BOX(box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		size_t n = i == 6 ? 6 : strlen(cases[i].bytes);
		toolbox_put_bytes(&box, "f", (struct str){ cases[i].bytes, n });
		toolbox_run(&box, "Read", "{'file_path':'f',%s}", cases[i].input);
		CHECK_STR(toolbox_text(&box), cases[i].text);
		CHECK(!box.call->is_error);
	}
}

TEST(what_cannot_be_read_is_an_error_that_says_why)
{
	BOX(box);
	CHECK_INT(mkfifo(toolbox_path(&box, "fifo"), 0600), 0);
	toolbox_put_bytes(&box, "b.bin",
			  STR("\x7f"
			      "ELF\0\1\2"));
	const struct {
		const char *path, *text;
	} cases[] = {
		{ "no", arena_printf(&box.arena, "File does not exist. Note: your current working directory is %s.",
				     box.dir) },
		{ ".", arena_printf(&box.arena, "EISDIR: illegal operation on a directory, read '%s'", box.dir) },
		{ "fifo",
		  arena_printf(&box.arena, "%s/fifo is a device, pipe or socket, not a regular file", box.dir) },
		{ "b.bin", arena_printf(&box.arena,
					"%s/b.bin is a binary file (7 bytes), not text. Use a program that "
					"understands its format instead.",
					box.dir) },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Read", "{'file_path':'%s'}", cases[i].path);
		CHECK_STR(toolbox_text(&box), cases[i].text);
		CHECK(box.call->is_error);
	}
}

/* n lines of 20 bytes with their numbers */
static void put_lines(struct toolbox *box, const char *name, int n)
{
	AUTO_BUF struct buf text = { 0 };

	for (int i = 1; i <= n; i++)
		buf_addf(&text, "line %06d, padded\n", i);
	toolbox_put_bytes(box, name, buf_str(&text));
}

TEST(a_file_above_256_kb_is_refused_unless_a_part_is_wanted_or_large_is_allowed)
{
	BOX(box);
	put_lines(&box, "big", 20000);

	toolbox_run(&box, "Read", "{'file_path':'big'}");
	CHECK(box.call->is_error);
	CHECK(str_starts(toolbox_text(&box),
			 STR("File content (390.6KB) exceeds maximum allowed size (256KB). Use offset")));
	CHECK(str_has(toolbox_text(&box), STR("allow_large: true")));

	toolbox_run(&box, "Read", "{'file_path':'big','offset':19999,'limit':5}");
	CHECK_STR(toolbox_text(&box), "19999\tline 019999, padded\n20000\tline 020000, padded\n20001\t");

	toolbox_run(&box, "Read", "{'file_path':'big','allow_large':true}");
	CHECK(!box.call->is_error);
	CHECK(str_has(toolbox_object(&box), STR("\"numLines\":20001")));
}

TEST(a_range_of_a_file_of_many_megabytes_is_read_in_a_worker)
{
	BOX(box);
	put_lines(&box, "huge", 200000);

	toolbox_begin(&box, "Read", "{'file_path':'huge','offset':150000,'limit':1}");
	CHECK(!box.call->finished);
	toolbox_finish(&box);

	CHECK_STR(toolbox_text(&box), "150000\tline 150000, padded");
	CHECK(str_has(toolbox_object(&box), STR("\"totalLines\":200001")));
}

TEST(a_whole_file_above_the_token_cap_comes_as_a_partial_view_that_does_not_count_as_read)
{
	BOX(box);
	put_lines(&box, "long", 9000);

	toolbox_run(&box, "Read", "{'file_path':'long'}");
	CHECK(!box.call->is_error);
	CHECK(str_starts(toolbox_text(&box), STR("1\tline 000001, padded\n2\t")));
	CHECK(str_has(toolbox_text(&box), STR("PARTIAL view")));
	CHECK(str_has(toolbox_text(&box), STR("of 9001.")));
	CHECK(toolbox_text(&box).n <= TOOL_RESULT_LIMIT);
	toolbox_run(&box, "Edit", "{'file_path':'long','old_string':'000005','new_string':'five'}");
	CHECK(str_has(toolbox_text(&box), STR("File has not been read yet.")));

	toolbox_run(&box, "Read", "{'file_path':'long','offset':1,'limit':8000}");
	CHECK(box.call->is_error);
	CHECK(str_has(toolbox_text(&box), STR("tokens")));

	toolbox_run(&box, "Read", "{'file_path':'long','offset':1,'limit':10}");
	toolbox_run(&box, "Edit", "{'file_path':'long','old_string':'000005','new_string':'five'}");
	CHECK(!box.call->is_error);
}

TEST(the_token_cap_comes_from_the_agents_environment)
{
	BOX(box);
	put_lines(&box, "long", 100);
	const char *envp[] = { "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS=100", NULL };
	box.env.envp = envp;

	toolbox_run(&box, "Read", "{'file_path':'long'}");

	CHECK(str_has(toolbox_text(&box), STR("Shown are lines 1-17 of 101.")));
}

TEST(nul_and_invalid_utf8_far_inside_a_file_are_repaired)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 1000; i++)
		buf_addstr(&text, "filler text\n");
	buf_add(&text, "x\0y\xff", 4);
	toolbox_put_bytes(&box, "odd", buf_str(&text));

	toolbox_run(&box, "Read", "{'file_path':'odd','offset':1001}");

	CHECK_STR(toolbox_text(&box), "1001\tx\xef\xbf\xbdy\xef\xbf\xbd");
}

TEST(input_that_does_not_fit_the_schema_is_rejected)
{
	BOX(box);

	toolbox_run(&box, "Read", "{'file_path':'a','lines':3}");
	CHECK(str_starts(toolbox_text(&box),
			 STR("<tool_use_error>InputValidationError: Read failed due to the following issue:\n")));
	CHECK(box.call->is_error);
	toolbox_run(&box, "Read", "{'file_path':''}");
	CHECK(str_starts(toolbox_text(&box), STR("<tool_use_error>file_path must be a path")));
}

int test_read(void)
{
	return RUN_TESTS(T(a_file_comes_as_numbered_lines_with_an_empty_one_after_the_last_line_feed),
			 T(results_of_ranges_and_odd_files_are_as_specified),
			 T(what_cannot_be_read_is_an_error_that_says_why),
			 T(a_file_above_256_kb_is_refused_unless_a_part_is_wanted_or_large_is_allowed),
			 T(a_range_of_a_file_of_many_megabytes_is_read_in_a_worker),
			 T(a_whole_file_above_the_token_cap_comes_as_a_partial_view_that_does_not_count_as_read),
			 T(the_token_cap_comes_from_the_agents_environment),
			 T(nul_and_invalid_utf8_far_inside_a_file_are_repaired),
			 T(input_that_does_not_fit_the_schema_is_rejected));
}
