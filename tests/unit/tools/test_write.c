/* SPDX-License-Identifier: MIT
 * test_write.c - the Write tool and the hunks of its result. */
#include "unit.h"
#include <sys/stat.h>
#include "tests.h"
#include "toolbox.h"
#include "tools/files/text_file.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

TEST(a_new_file_is_created_with_its_directories)
{
	BOX(box);

	toolbox_run(&box, "Write", "{'file_path':'x/y/new.txt','content':'hello\\n'}");

	CHECK_STR(toolbox_text(&box), arena_printf(&box.arena,
						   "File created successfully at: %s/x/y/new.txt (file state is "
						   "current in your context \xe2\x80\x94 no need to Read it back)",
						   box.dir));
	CHECK_STR(toolbox_get(&box, "x/y/new.txt"), "hello\n");
	CHECK_STR(toolbox_object(&box),
		  arena_printf(&box.arena,
			       "{\"type\":\"create\",\"filePath\":\"%s/x/y/new.txt\","
			       "\"content\":\"hello\\n\",\"structuredPatch\":[],\"originalFile\":null}",
			       box.dir));
}

TEST(a_file_that_the_agent_has_not_seen_is_not_replaced)
{
	BOX(box);
	toolbox_put(&box, "a", "precious");

	toolbox_run(&box, "Write", "{'file_path':'a','content':'new'}");

	CHECK_STR(toolbox_text(&box), "<tool_use_error>File has not been read yet. Read it first before writing to "
				      "it.</tool_use_error>");
	CHECK_STR(toolbox_get(&box, "a"), "precious");
}

TEST(a_file_that_was_read_is_replaced_and_keeps_its_mode)
{
	BOX(box);
	toolbox_put(&box, "run.sh", "one\ntwo\n");
	CHECK_INT(chmod(toolbox_path(&box, "run.sh"), 0750), 0);

	toolbox_run(&box, "Read", "{'file_path':'run.sh'}");
	toolbox_run(&box, "Write", "{'file_path':'run.sh','content':'one\\n2\\n'}");

	struct stat st;
	CHECK(!box.call->is_error);
	CHECK_INT(stat(toolbox_path(&box, "run.sh"), &st), 0);
	CHECK_INT(st.st_mode & 0777, 0750);
	CHECK_STR(toolbox_get(&box, "run.sh"), "one\n2\n");
	CHECK(str_has(toolbox_object(&box), STR("\"type\":\"update\"")));
	CHECK(str_has(toolbox_object(&box), STR("\"lines\":[\" one\",\"-two\",\"+2\"]")));
}

TEST(a_file_that_changed_since_the_read_is_not_replaced)
{
	BOX(box);
	toolbox_put(&box, "a", "old");
	toolbox_run(&box, "Read", "{'file_path':'a'}");
	toolbox_put(&box, "a", "theirs");

	toolbox_run(&box, "Write", "{'file_path':'a','content':'mine'}");

	CHECK(box.call->is_error);
	CHECK(str_has(toolbox_text(&box), STR("File has been modified since it was read")));
	CHECK_STR(toolbox_get(&box, "a"), "theirs");
}

TEST(a_new_time_with_the_same_bytes_is_not_a_change)
{
	BOX(box);
	toolbox_put(&box, "a", "same");
	toolbox_run(&box, "Read", "{'file_path':'a'}");
	toolbox_age(&box, "a", 1000);

	toolbox_run(&box, "Write", "{'file_path':'a','content':'new'}");

	CHECK(!box.call->is_error);
}

TEST(an_agent_may_write_again_what_it_wrote)
{
	BOX(box);

	toolbox_run(&box, "Write", "{'file_path':'a','content':'1'}");
	toolbox_run(&box, "Write", "{'file_path':'a','content':'2'}");

	CHECK(!box.call->is_error);
	CHECK_STR(toolbox_get(&box, "a"), "2");
}

TEST(of_two_agents_the_second_must_read_what_the_first_wrote)
{
	BOX(box);
	struct file_state other = { 0 };
	toolbox_put(&box, "a", "base");
	toolbox_run(&box, "Read", "{'file_path':'a'}");
	box.env.files = &other;
	toolbox_run(&box, "Read", "{'file_path':'a'}");

	toolbox_run(&box, "Write", "{'file_path':'a','content':'second agent'}");
	CHECK(!box.call->is_error);
	box.env.files = &box.files;
	toolbox_run(&box, "Write", "{'file_path':'a','content':'first agent'}");

	CHECK(box.call->is_error);
	CHECK_STR(toolbox_get(&box, "a"), "second agent");
	file_state_release(&other);
}

TEST(a_directory_is_not_written_to)
{
	BOX(box);

	toolbox_run(&box, "Write", "{'file_path':'.','content':'x'}");

	CHECK(box.call->is_error);
	CHECK(str_starts(toolbox_text(&box), STR("EISDIR")));
}

TEST(hunks_have_three_lines_of_context_and_join_when_they_touch)
{
	static const struct {
		const char *old, *new, *json;
	} cases[] = {
		{ "a\n", "a\n", "[]" },
		{ "", "a\n", "[{\"oldStart\":0,\"oldLines\":0,\"newStart\":1,\"newLines\":1,\"lines\":[\"+a\"]}]" },
		{ "a\n", "", "[{\"oldStart\":1,\"oldLines\":1,\"newStart\":0,\"newLines\":0,\"lines\":[\"-a\"]}]" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n",
		  "[{\"oldStart\":2,\"oldLines\":7,\"newStart\":2,\"newLines\":7,"
		  "\"lines\":[\" 2\",\" 3\",\" 4\",\"-5\",\"+X\",\" 6\",\" 7\",\" 8\"]}]" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n",
		  "[{\"oldStart\":1,\"oldLines\":3,\"newStart\":1,\"newLines\":4,\"lines\":[\"+0\",\" 1\",\" 2\",\" 3\"]},"
		  "{\"oldStart\":6,\"oldLines\":4,\"newStart\":7,\"newLines\":3,\"lines\":[\" 6\",\" 7\",\" 8\",\"-9\"]}]" },
		{ "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n",
		  "[{\"oldStart\":1,\"oldLines\":7,\"newStart\":1,\"newLines\":6,"
		  "\"lines\":[\"-a\",\"-b\",\" c\",\"+b\",\" a\",\" b\",\"-b\",\" a\",\"+c\"]}]" },
		{ "a", "a\n",
		  "[{\"oldStart\":1,\"oldLines\":1,\"newStart\":1,\"newLines\":1,"
		  "\"lines\":[\"-a\",\"\\\\ No newline at end of file\",\"+a\"]}]" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf out = { 0 };
		struct json_out w = json_out(&out);
		line_diff_put(&w, str_from(cases[i].old), str_from(cases[i].new));
		CHECK_STR(buf_str(&out), cases[i].json);
	}
}

TEST(texts_with_nothing_in_common_are_one_hunk_and_quick)
{
	AUTO_BUF struct buf a = { 0 };
	AUTO_BUF struct buf b = { 0 };
	AUTO_BUF struct buf out = { 0 };
	for (int i = 0; i < 50000; i++) {
		buf_addf(&a, "a%d\n", i);
		buf_addf(&b, "b%d\n", i);
	}

	struct json_out w = json_out(&out);
	line_diff_put(&w, buf_str(&a), buf_str(&b));

	CHECK(str_starts(buf_str(&out), STR("[{\"oldStart\":1,\"oldLines\":50000,\"newStart\":1,\"newLines\":50000,")));
}

/* The gate has judged dir/f. Before the tool starts, dir becomes a link that leads elsewhere. */
static void judge_then_swap(struct tool_gate *gate, struct tool_call *call)
{
	const char *cwd = call->env->cwd;

	call->file = call->file_target = arena_printf(&call->arena, "%s/dir/f", cwd);
	CHECK_INT(rename(arena_printf(&call->arena, "%s/dir", cwd), arena_printf(&call->arena, "%s/away", cwd)), 0);
	CHECK_INT(symlink("out", arena_printf(&call->arena, "%s/dir", cwd)), 0);
	tool_call_decided(call, TOOL_ALLOW, STR(""));
}

TEST(what_the_gate_has_judged_is_opened_or_nothing)
{
	static const struct {
		const char *tool, *input;
	} table[] = {
		{ "Read", "{'file_path':'dir/f'}" },
		{ "Write", "{'file_path':'dir/f','content':'new'}" },
		{ "Edit", "{'file_path':'dir/f','old_string':'secret','new_string':'new'}" },
		{ "Edit", "{'file_path':'dir/f','old_string':'','new_string':'new'}" },
		{ "NotebookEdit", "{'notebook_path':'dir/f','new_source':'x','cell_id':'a'}" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		BOX(box);
		CHECK_INT(mkdir(toolbox_path(&box, "dir"), 0755), 0);
		CHECK_INT(mkdir(toolbox_path(&box, "out"), 0755), 0);
		toolbox_put(&box, "dir/f", "mine");
		toolbox_put(&box, "out/f", "secret");
		toolbox_run(&box, "Read", "{'file_path':'out/f'}");
		toolbox_run(&box, "Read", "{'file_path':'dir/f'}");
		box.gate.ask = judge_then_swap;

		toolbox_run(&box, table[i].tool, "%s", table[i].input);

		CHECK(box.call->is_error);
		CHECK(str_has(toolbox_text(&box), STR("dir/f: it is or leads through a symbolic link")));
		CHECK_STR(toolbox_get(&box, "out/f"), "secret");
		CHECK_STR(toolbox_get(&box, "away/f"), "mine");
	}
}

int test_write(void)
{
	return RUN_TESTS(T(what_the_gate_has_judged_is_opened_or_nothing),
			 T(a_new_file_is_created_with_its_directories),
			 T(a_file_that_the_agent_has_not_seen_is_not_replaced),
			 T(a_file_that_was_read_is_replaced_and_keeps_its_mode),
			 T(a_file_that_changed_since_the_read_is_not_replaced),
			 T(a_new_time_with_the_same_bytes_is_not_a_change), T(an_agent_may_write_again_what_it_wrote),
			 T(of_two_agents_the_second_must_read_what_the_first_wrote), T(a_directory_is_not_written_to),
			 T(hunks_have_three_lines_of_context_and_join_when_they_touch),
			 T(texts_with_nothing_in_common_are_one_hunk_and_quick));
}
