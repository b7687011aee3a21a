/* SPDX-License-Identifier: MIT
 * test_gitignore.c - ignore rules. */
#include "unit.h"
#include "tests.h"
#include "lib/match/gitignore.h"

TEST(rules_decide_as_git_has_it)
{
	enum { N = IGNORE_NONE, D = IGNORE_DROP, K = IGNORE_KEEP };
	static const struct {
		const char *rules, *path;
		bool is_dir;
		int verdict;
	} cases[] = {
		{ "a", "a", false, D },
		{ "a", "x/a", false, D },
		{ "a", "ab", false, N },
		{ "/a", "a", false, D },
		{ "/a", "x/a", false, N },
		{ "a/", "a", true, D },
		{ "a/", "a", false, N },
		{ "x/a", "x/a", false, D },
		{ "x/a", "y/x/a", false, N },
		{ "*.o", "x/y.o", false, D },
		{ "*.o", "x.c", false, N },
		{ "*.o\n!k.o", "k.o", false, K },
		{ "!k.o\n*.o", "k.o", false, D },
		{ "# c", "# c", false, N },
		{ "\\# c", "# c", false, D },
		{ "\\!x", "!x", false, D },
		{ "a ", "a", false, D },
		{ "a\\ ", "a ", false, D },
		{ "a\t\r", "a", false, D },
		{ "**/a", "x/y/a", false, D },
		{ "a/**", "a/x", false, D },
		{ "a/**", "a", true, N },
		{ "a/**/b", "a/b", false, D },
		{ "foo*bar", "x/fooQbar", false, D },
		{ "/*.c", "a.c", false, D },
		{ "/*.c", "x/a.c", false, N },
		{ "[ab].c", "b.c", false, D },
		{ "[", "[", false, N },
		{ "{a,b}", "b", false, D },
		{ "\xef\xbb\xbf"
		  "a",
		  "a", false, D },
		{ "", "", false, N },
		{ "/", "a", true, N },
		{ "a/b/", "a/b", true, D },
		{ "**", "x/y", false, D },
		{ "*", "x", true, D },
		{ "!*/\n", "d", true, K },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct gitignore g = { 0 };
		gitignore_add_text(&g, str_from(cases[i].rules));
		if ((int)gitignore_match(&g, str_from(cases[i].path), cases[i].is_dir) != cases[i].verdict)
			fail_msg("'%s' and %s", cases[i].rules, cases[i].path);
		gitignore_release(&g);
	}
}

int test_gitignore(void)
{
	return RUN_TESTS(T(rules_decide_as_git_has_it));
}
