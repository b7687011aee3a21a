/* SPDX-License-Identifier: MIT
 * test_matcher.c - names, lists and regular expressions. */
#include "unit.h"
#include "guard/hook/set.h"
#include "tests.h"

static bool fits(const char *text, const char *subject, bool narrow)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct hook_matcher m;
	struct err err = { 0 };

	if (hook_matcher_init(&m, &arena, str_from(text), narrow, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	bool fit = hook_matcher_fits(&m, str_from(subject));
	hook_matcher_release(&m);
	return fit;
}

TEST(a_matcher_fits_what_the_table_says)
{
	static const struct {
		const char *matcher, *subject;
		bool fits;
	} table[] = {
		{ "", "Bash", true },
		{ "*", "Bash", true },
		{ "*", "", true },
		{ "Bash", "Bash", true },
		{ "Bash", "BashOutput", false },
		{ "Bash", "bash", false },
		{ "Edit|Write", "Write", true },
		{ "Edit|Write", "NotebookEdit", false },
		{ "Edit , Write", "Edit", true },
		{ "Edit, Write | Read", "Read", true },
		{ "|", "", false },
		{ "||Bash", "", false },
		{ "code-reviewer", "code-reviewer", true },
		{ "my agent", "my agent", true },
		{ "mcp__memory", "mcp__memory__read", false },
		{ "mcp__memory__.*", "mcp__memory__read", true },
		{ "mcp__.*__write.*", "mcp__fs__write_file", true },
		{ "mcp__.*__write.*", "mcp__fs__read_file", false },
		{ "Notebook.*", "NotebookEdit", true },
		{ "otebook.", "NotebookEdit", true }, /* anywhere */
		{ "^Bash$", "Bash", true },
		{ "^Bash$", "Bash\n", false }, /* $ is the very end, as in JavaScript */
		{ "^(?!Bash)", "Read", true },
		{ "^(?!Bash)", "BashOutput", false },
		{ "\\u0042ash", "Bash", true },
		{ "\\x42ash", "Bash", true },
		{ "B[]ash|Read.?", "Read", true }, /* [] fits nothing */
		{ "^.$", "\xc3\xa9", true },       /* a character, not a byte */
		{ "\xc3\xa9", "caf\xc3\xa9", true },
		{ ".*", "\xff\xfe", true },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (fits(table[i].matcher, table[i].subject, false) != table[i].fits)
			fail_msg("matcher '%s' and '%s'", table[i].matcher, table[i].subject);
}

TEST(a_narrow_matcher_with_a_hyphen_is_an_expression)
{
	CHECK(fits("a-b", "a-b", false));
	CHECK(!fits("a-b", "xa-b", false));
	CHECK(fits("a-b", "xa-b", true));
	CHECK(!fits("rate_limit|unknown", "xunknown", true));
}

TEST(a_bad_expression_is_an_error_that_says_where_and_fits_nothing)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct hook_matcher m;
	struct err err = { 0 };

	CHECK_INT(hook_matcher_init(&m, &arena, STR("Bash("), false, &err), -ERR_PARSE);

	CHECK_CSTR(err.text, "missing closing parenthesis at character 5");
	CHECK(!hook_matcher_fits(&m, STR("Bash(")));
	hook_matcher_release(&m);
}

TEST(a_huge_expression_is_refused)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct hook_matcher m;

	for (int i = 0; i < 5000; i++)
		buf_addch(&text, '(');
	CHECK_INT(hook_matcher_init(&m, &arena, buf_str(&text), false, NULL), -ERR_PARSE);
	hook_matcher_release(&m);
}

TEST(an_expression_that_needs_too_much_work_fits)
{
	CHECK(fits("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false));
}

int test_matcher(void)
{
	return RUN_TESTS(T(a_matcher_fits_what_the_table_says), T(a_narrow_matcher_with_a_hyphen_is_an_expression),
			 T(a_bad_expression_is_an_error_that_says_where_and_fits_nothing),
			 T(a_huge_expression_is_refused), T(an_expression_that_needs_too_much_work_fits));
}
