/* SPDX-License-Identifier: MIT
 * test_glob.c - path patterns. */
#include "unit.h"
#include "tests.h"
#include "lib/match/glob.h"

TEST(patterns_match_whole_paths)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} cases[] = {
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "", "", true },
		{ "*", "a", true },
		{ "*", "a/b", false },
		{ "a*c", "abbc", true },
		{ "a*c", "ab/c", false },
		{ "*.c", ".c", true },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[^a]x", "ax", false },
		{ "[]x]", "]", true },
		{ "[a-]", "-", true },
		{ "[!a]", "/", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "**/x", "x", true },
		{ "**/x", "a/b/x", true },
		{ "**/x", "a/bx", false },
		{ "a/**", "a/b/c", true },
		{ "a/**", "a", false },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "ab", false },
		{ "**", "a/b", true },
		{ "a**b", "axxb", true },
		{ "a**b", "a/b", false },
		{ "*.{c,h}", "x.h", true },
		{ "*.{c,h}", "x.o", false },
		{ "{a,b{1,2}}/x", "b2/x", true },
		{ "{a,b{1,2}}/x", "b/x", false },
		{ "{,x}a", "a", true },
		{ "a{b}c", "abc", true },
		{ "x[{]y", "x{y", true },
		{ "\\{a,b\\}", "{a,b}", true },
		{ "**/a/**/b/*.c", "a/b/x/b/y.c", true },
		{ "**/a/*/c", "a/a/b/c", true },
		{ "src/**/test_*.c", "src/a/b/test_x.c", true },
		{ "a\\", "a\\", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct glob g;
		CHECK_INT(glob_compile(&g, str_from(cases[i].pattern), NULL), 0);
		if (glob_match(&g, str_from(cases[i].path)) != cases[i].matches)
			fail_msg("%s and %s", cases[i].pattern, cases[i].path);
		glob_release(&g);
	}
}

TEST(a_pattern_with_many_stars_is_no_trap)
{
	AUTO_BUF struct buf pattern = { 0 };
	AUTO_BUF struct buf path = { 0 };
	struct glob g;
	for (int i = 0; i < 200; i++) {
		buf_addstr(&pattern, "**/*a*");
		buf_addstr(&path, "aaaaaaaaaa/");
	}
	buf_addch(&pattern, 'b');

	CHECK_INT(glob_compile(&g, buf_str(&pattern), NULL), 0);
	CHECK(!glob_match(&g, buf_str(&path)));
	glob_release(&g);
}

TEST(broken_patterns_are_errors)
{
	static const char *const cases[] = { "[a", "{a,b", "[z-a]",
					     "[!", "{{a}", "{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}" };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct err err = { 0 };
		struct glob g;
		CHECK(glob_compile(&g, str_from(cases[i]), &err) < 0);
		CHECK(err.text[0]);
	}
}

int test_glob(void)
{
	return RUN_TESTS(T(patterns_match_whole_paths), T(a_pattern_with_many_stars_is_no_trap),
			 T(broken_patterns_are_errors));
}
