/* SPDX-License-Identifier: MIT
 * test_edit.c - the Edit tool. */
#include "unit.h"
#include <sys/stat.h>
#include "tests.h"
#include "toolbox.h"
#include "tools/files/text_file.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

static void read_then_edit(struct toolbox *box, const char *name, const char *rest)
{
	toolbox_run(box, "Read", "{'file_path':'%s'}", name);
	toolbox_run(box, "Edit", "{'file_path':'%s',%s}", name, rest);
}

TEST(one_occurrence_is_replaced_and_the_result_says_what_changed)
{
	BOX(box);
	toolbox_put(&box, "a.c", "int a;\nint b;\n");
	CHECK_INT(chmod(toolbox_path(&box, "a.c"), 0604), 0);

	read_then_edit(&box, "a.c", "'old_string':'int b','new_string':'long b'");

	struct stat st;
	CHECK_STR(toolbox_get(&box, "a.c"), "int a;\nlong b;\n");
	CHECK_INT(stat(toolbox_path(&box, "a.c"), &st), 0);
	CHECK_INT(st.st_mode & 0777, 0604);
	CHECK_STR(toolbox_text(&box), arena_printf(&box.arena,
						   "The file %s/a.c has been updated successfully. (file state is "
						   "current in your context \xe2\x80\x94 no need to Read it back)",
						   box.dir));
	CHECK_STR(
		toolbox_object(&box),
		arena_printf(
			&box.arena,
			"{\"filePath\":\"%s/a.c\",\"oldString\":\"int b\","
			"\"newString\":\"long b\",\"originalFile\":\"int a;\\nint b;\\n\",\"structuredPatch\":[{\"oldStart\":1,"
			"\"oldLines\":2,\"newStart\":1,\"newLines\":2,\"lines\":[\" int a;\",\"-int b;\",\"+long b;\"]}],"
			"\"userModified\":false,\"replaceAll\":false}",
			box.dir));
}

TEST(what_cannot_be_done_is_said_and_the_file_stays)
{
	static const struct {
		bool read;
		const char *input, *text;
	} cases[] = {
		{ true, "'old_string':'x','new_string':'x'",
		  "No changes to make: old_string and new_string are exactly the same." },
		{ false, "'old_string':'a','new_string':'b'",
		  "File has not been read yet. Read it first before writing to it." },
		{ true, "'old_string':'zz','new_string':'b'", "String to replace not found in file.\nString: zz" },
		{ true, "'old_string':'a','new_string':'b'",
		  "Found 3 matches of the string to replace, but replace_all is false. To replace all of them set replace_all to "
		  "true; to replace one of them give more of the text around it.\nString: a" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		BOX(box);
		toolbox_put(&box, "f", "a a a\n");
		if (cases[i].read)
			toolbox_run(&box, "Read", "{'file_path':'f'}");
		toolbox_run(&box, "Edit", "{'file_path':'f',%s}", cases[i].input);
		CHECK_STR(toolbox_text(&box),
			  arena_printf(&box.arena, "<tool_use_error>%s</tool_use_error>", cases[i].text));
		CHECK(box.call->is_error);
		CHECK_STR(toolbox_get(&box, "f"), "a a a\n");
	}
}

TEST(a_missing_file_is_edited_only_with_an_empty_old_string)
{
	BOX(box);

	toolbox_run(&box, "Edit", "{'file_path':'no','old_string':'a','new_string':'b'}");
	CHECK(str_starts(toolbox_text(&box), STR("<tool_use_error>File does not exist.")));

	toolbox_run(&box, "Edit", "{'file_path':'d/new','old_string':'','new_string':'text\\n'}");
	CHECK(!box.call->is_error);
	CHECK_STR(toolbox_get(&box, "d/new"), "text\n");

	toolbox_run(&box, "Edit", "{'file_path':'d/new','old_string':'','new_string':'other'}");
	CHECK(box.call->is_error);
	CHECK_STR(toolbox_get(&box, "d/new"), "text\n");
}

TEST(all_occurrences_are_replaced_when_asked_for)
{
	BOX(box);
	toolbox_put(&box, "f", "a-a-aa");

	read_then_edit(&box, "f", "'old_string':'a','new_string':'bb','replace_all':true");

	CHECK_STR(toolbox_get(&box, "f"), "bb-bb-bbbb");
}

TEST(a_file_changed_since_the_read_is_edited_only_where_one_place_matches)
{
	BOX(box);
	toolbox_put(&box, "f", "one\ntwo\n");
	toolbox_run(&box, "Read", "{'file_path':'f'}");
	toolbox_put(&box, "f", "zero\none\ntwo\n");

	toolbox_run(&box, "Edit", "{'file_path':'f','old_string':'gone','new_string':'x'}");
	CHECK(str_has(toolbox_text(&box), STR("Read it again")));
	toolbox_run(&box, "Edit", "{'file_path':'f','old_string':'two','new_string':'2'}");
	CHECK(!box.call->is_error);
	CHECK(str_has(toolbox_text(&box), STR("had been modified since you read it")));
	CHECK_STR(toolbox_get(&box, "f"), "zero\none\n2\n");

	toolbox_run(&box, "Write", "{'file_path':'f','content':'lost?'}");
	CHECK(str_has(toolbox_text(&box), STR("File has been modified since it was read")));
}

TEST(edits_in_a_row_need_no_read_between_them)
{
	BOX(box);
	toolbox_put(&box, "f", "a b c");

	read_then_edit(&box, "f", "'old_string':'a','new_string':'1'");
	toolbox_run(&box, "Edit", "{'file_path':'f','old_string':'b','new_string':'2'}");

	CHECK(!box.call->is_error);
	CHECK(!str_has(toolbox_text(&box), STR("modified since")));
	CHECK_STR(toolbox_get(&box, "f"), "1 2 c");
}

TEST(line_ends_and_encodings_and_foreign_bytes_are_kept)
{
	static const struct {
		struct str before;
		const char *edit;
		struct str after;
	} cases[] = {
		{ { "a\r\nb\r\nc\r\n", 9 },
		  "'old_string':'a\\nb','new_string':'x\\ny\\nz'",
		  { "x\r\ny\r\nz\r\nc\r\n", 12 } },
		{ { "a\r\nb\nc\r\n", 8 }, "'old_string':'c','new_string':'d'", { "a\r\nb\nd\r\n", 8 } },
		{ { "a\nb\r\n", 5 }, "'old_string':'a\\nb\\n','new_string':'z\\n'", { "z\n", 2 } },
		{ { "\xef\xbb\xbf"
		    "a\n",
		    5 },
		  "'old_string':'a','new_string':'b'",
		  { "\xef\xbb\xbf"
		    "b\n",
		    5 } },
		{ { "\xff\xfe"
		    "a\0\n\0",
		    6 },
		  "'old_string':'a','new_string':'\\u00e9'",
		  { "\xff\xfe\xe9\0\n\0", 6 } },
		{ { "\xfe\xff\0a\xd8\x3d\xde\0", 8 },
		  "'old_string':'a','new_string':'b'",
		  { "\xfe\xff\0b\xd8\x3d\xde\0", 8 } },
		{ { "caf\xe9 au lait \xff\n", 15 },
		  "'old_string':'lait','new_string':'th\\u00e9'",
		  { "caf\xe9 au th\xc3\xa9 \xff\n", 15 } },
	};
	BOX(box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_put_bytes(&box, "f", cases[i].before);
		read_then_edit(&box, "f", cases[i].edit);
		CHECK(!box.call->is_error);
		struct str after = toolbox_get(&box, "f");
		CHECK(str_eq(after, cases[i].after));
	}
}

TEST(damaged_utf16_is_not_edited)
{
	BOX(box);
	toolbox_put_bytes(&box, "f",
			  (struct str){ "\xff\xfe"
					"a\0\x3d\xd8\n\0",
					8 });

	read_then_edit(&box, "f", "'old_string':'a','new_string':'b'");

	CHECK(box.call->is_error);
	CHECK(str_has(toolbox_text(&box), STR("UTF-16")));
}

TEST(a_symbolic_link_stays_one)
{
	BOX(box);
	toolbox_put(&box, "target", "a\n");
	CHECK_INT(symlink("target", toolbox_path(&box, "link")), 0);

	read_then_edit(&box, "link", "'old_string':'a','new_string':'b'");

	struct stat st;
	CHECK_INT(lstat(toolbox_path(&box, "link"), &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_STR(toolbox_get(&box, "target"), "b\n");
}

TEST(a_line_feed_in_the_searched_text_matches_both_line_ends)
{
	static const struct {
		const char *text, *needle;
		size_t count;
	} cases[] = {
		{ "a\r\nb", "a\nb", 1 }, { "a\nb", "a\nb", 1 },     { "a\r\nb", "a\r\nb", 1 },
		{ "a\r\rb", "a\nb", 0 }, { "\r\n\r\n\n", "\n", 3 }, { "x\n\nx\r\n\r\n", "\n\n", 2 },
		{ "aaa", "aa", 1 },      { "ab", "abc", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(text_count(str_from(cases[i].text), str_from(cases[i].needle)), cases[i].count);
}

int test_edit(void)
{
	return RUN_TESTS(T(one_occurrence_is_replaced_and_the_result_says_what_changed),
			 T(what_cannot_be_done_is_said_and_the_file_stays),
			 T(a_missing_file_is_edited_only_with_an_empty_old_string),
			 T(all_occurrences_are_replaced_when_asked_for),
			 T(a_file_changed_since_the_read_is_edited_only_where_one_place_matches),
			 T(edits_in_a_row_need_no_read_between_them),
			 T(line_ends_and_encodings_and_foreign_bytes_are_kept), T(damaged_utf16_is_not_edited),
			 T(a_symbolic_link_stays_one), T(a_line_feed_in_the_searched_text_matches_both_line_ends));
}
