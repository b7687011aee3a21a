/* SPDX-License-Identifier: MIT
 * test_wildcard.c - texts with *. */
#include "unit.h"
#include "lib/match/glob.h"
#include "tests.h"

TEST(a_star_is_any_text_and_none)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "", "", true },           { "", "a", false },     { "*", "", true },
		{ "*", "a b/c", true },     { "a", "a", true },     { "a", "ab", false },
		{ "a*", "a", true },        { "a*", "abc", true },  { "a*", "ba", false },
		{ "*a", "bca", true },      { "*a", "ab", false },  { "a*b*c", "a1b2c", true },
		{ "a*b*c", "acb", false },  { "*ab", "aab", true }, { "**a", "ba", true },
		{ "\\*", "*", true },       { "\\*", "a", false },  { "\\\\", "\\", true },
		{ "a\\b", "a\\b", true },   { "*\\*", "a*", true }, { "\\", "\\", true },
		{ "a*aab", "aaaab", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (wildcard_match(str_from(cases[i].pattern), str_from(cases[i].text)) != cases[i].matches)
			fail_msg("%s and %s", cases[i].pattern, cases[i].text);
}

TEST(many_stars_are_no_trap)
{
	AUTO_BUF struct buf pattern = { 0 };
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 1000; i++) {
		buf_addstr(&pattern, "*a");
		buf_addstr(&text, "aaa");
	}
	buf_addch(&pattern, 'b');

	CHECK(!wildcard_match(buf_str(&pattern), buf_str(&text)));
}

TEST(a_plain_pattern_has_nothing_special)
{
	CHECK(wildcard_is_plain(STR("a\\b ?")));
	CHECK(!wildcard_is_plain(STR("a*")));
	CHECK(!wildcard_is_plain(STR("a\\*")));
	CHECK(wildcard_is_plain(STR("")));
}

int test_wildcard(void)
{
	return RUN_TESTS(T(a_star_is_any_text_and_none), T(many_stars_are_no_trap),
			 T(a_plain_pattern_has_nothing_special));
}
