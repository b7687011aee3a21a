/* SPDX-License-Identifier: MIT
 * test_glob.c - the Glob tool. */
#include "unit.h"
#include "tests.h"
#include "toolbox.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

TEST(files_come_newest_first_relative_to_the_agents_directory)
{
	BOX(box);
	static const char *const names[] = { "old.c", "src/new.c", ".hidden/mid.c", "src/x.h" };
	static const long ages[] = { 300, 100, 200, 50 };
	toolbox_put(&box, ".gitignore", "old.c\n");
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		toolbox_put(&box, names[i], "");
		toolbox_age(&box, names[i], ages[i]);
	}

	toolbox_run(&box, "Glob", "{'pattern':'*.c'}");
	CHECK_STR(toolbox_text(&box), "src/new.c\n.hidden/mid.c\nold.c");
	CHECK(str_has(toolbox_object(&box),
		      STR("\"numFiles\":3,\"filenames\":[\"src/new.c\",\".hidden/mid.c\",\"old.c\"],"
			  "\"truncated\":false,\"totalMatches\":3}")));

	static const struct {
		const char *input, *text;
	} cases[] = {
		{ "'pattern':'src/*'", "src/x.h\nsrc/new.c" },   { "'pattern':'**/*.{h,x}'", "src/x.h" },
		{ "'pattern':'*.c','path':'src'", "src/new.c" }, { "'pattern':'./*.c'", "old.c" },
		{ "'pattern':'none*'", "No files found" },       { "'pattern':'no/such/*'", "No files found" },
		{ "'pattern':'#x'", "No files found" },          { "'pattern':'!x'", "No files found" },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Glob", "{%s}", cases[i].input);
		CHECK_STR(toolbox_text(&box), cases[i].text);
	}
	toolbox_run(&box, "Glob", "{'pattern':'%s/*.c'}", box.dir);
	CHECK_STR(toolbox_text(&box), "old.c");
}

TEST(the_environment_can_leave_hidden_and_ignored_files_out)
{
	BOX(box);
	toolbox_put(&box, ".git/HEAD", "");
	toolbox_put(&box, ".gitignore", "*.o\n");
	toolbox_put(&box, "a.o", "");
	toolbox_put(&box, "a.c", "");
	const char *envp[] = { "CLAUDE_CODE_GLOB_HIDDEN=false", "CLAUDE_CODE_GLOB_NO_IGNORE=false", NULL };

	toolbox_run(&box, "Glob", "{'pattern':'**/HEAD'}");
	CHECK_STR(toolbox_text(&box), ".git/HEAD");
	box.env.envp = envp;
	toolbox_run(&box, "Glob", "{'pattern':'**/HEAD'}");
	CHECK_STR(toolbox_text(&box), "No files found");
}

TEST(at_most_a_hundred_files_are_returned)
{
	BOX(box);
	for (int i = 0; i < 150; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%03d", i);
		toolbox_put(&box, name, "");
		toolbox_age(&box, name, 1000 - i);
	}

	toolbox_run(&box, "Glob", "{'pattern':'f*'}");

	CHECK(str_starts(toolbox_text(&box), STR("f149\nf148\n")));
	CHECK(str_has(toolbox_text(&box), STR("\nf050\n(Results are truncated: the newest 100 of 150 files.")));
	CHECK(str_has(toolbox_object(&box), STR("\"truncated\":true,\"totalMatches\":150}")));
}

TEST(a_directory_or_pattern_that_cannot_be_meant_is_rejected)
{
	static const char *const cases[] = { "'pattern':'*','path':'nowhere'", "'pattern':'[a'", "'pattern':''" };
	BOX(box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Glob", "{%s}", cases[i]);
		CHECK(box.call->is_error);
		CHECK(str_starts(toolbox_text(&box), STR("<tool_use_error>")));
	}
}

int test_glob(void)
{
	return RUN_TESTS(T(files_come_newest_first_relative_to_the_agents_directory),
			 T(the_environment_can_leave_hidden_and_ignored_files_out),
			 T(at_most_a_hundred_files_are_returned),
			 T(a_directory_or_pattern_that_cannot_be_meant_is_rejected));
}
