/* SPDX-License-Identifier: MIT
 * test_shell_arithmetic.c - which arithmetic with names is understood. What bash does with the same texts is shown in
 * test_shell_oracle.c. */
#include "unit.h"
#include "guard/shell/shell_parse.h"
#include "shell_arithmetic_corpus.h"
#include "tests.h"

static bool is_understood(const char *text)
{
	AUTO_ARENA struct arena a = { 0 };
	struct shell_script s;

	shell_parse(&a, str_from(text), &s);
	return s.understood;
}

TEST(arithmetic_with_names_that_hold_numbers_is_understood)
{
	for (size_t i = 0; i < COUNT_OF(arithmetic_safe); i++)
		if (!is_understood(arithmetic_safe[i]))
			fail_msg("not understood: %s", arithmetic_safe[i]);
}

TEST(arithmetic_with_a_name_that_may_hold_anything_is_not_understood)
{
	for (size_t i = 0; i < COUNT_OF(arithmetic_hostile); i++)
		if (is_understood(arithmetic_hostile[i]))
			fail_msg("understood: %s", arithmetic_hostile[i]);
	for (size_t i = 0; i < COUNT_OF(arithmetic_refused); i++)
		if (is_understood(arithmetic_refused[i]))
			fail_msg("understood: %s", arithmetic_refused[i]);
}

TEST(a_loop_that_counts_needs_no_more_than_a_bare_rule)
{
	CHECK(is_understood("i=0; while [ $i -lt 9000 ]; do echo \"line $i of many lines\"; i=$((i + 1)); done"));
	CHECK(is_understood("i=0; while test $i -lt 9; do ((i++)); done"));
	CHECK(is_understood("i=0; while [ $i -lt 9 ] 2>/dev/null; do ((i++)); done"));
	CHECK(!is_understood("i=0; while [ $i -lt 9 ]; do ((i++)); done; eval a"));
}

TEST(a_word_says_whether_it_is_a_number)
{
	static const struct {
		const char *text;
		bool number;
	} rows[] = {
		{ "x=0", true },
		{ "x=-12", true },
		{ "x='7'", true },
		{ "x=$((1+2))", true },
		{ "x=\"$((1+2))\"", true },
		{ "x=", false },
		{ "x=-", false },
		{ "x=01", false },
		{ "x=1a", false },
		{ "x=+1", false },
		{ "x=$((1))2", false },
		{ "x=$((1))$((2))", false },
		{ "x=a$((1))", false },
		{ "x=$(a)", false },
		{ "x+=1", false },
		{ "x[0]=1", false },
		{ "x=(1)", false },
		{ "x=$y", false },
		{ "x=y=$((1))", false },
		{ "x=1000000000000000000", false },
		{ "x=\"$((1))\"\"\"", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_script s;
		shell_parse(&a, str_from(rows[i].text), &s);
		if (s.commands[s.count - 1].assignments[0].value.number != rows[i].number)
			fail_msg("wrong for: %s", rows[i].text);
	}
}

int test_shell_arithmetic(void)
{
	return RUN_TESTS(T(arithmetic_with_names_that_hold_numbers_is_understood),
			 T(arithmetic_with_a_name_that_may_hold_anything_is_not_understood),
			 T(a_loop_that_counts_needs_no_more_than_a_bare_rule), T(a_word_says_whether_it_is_a_number));
}
