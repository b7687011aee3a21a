/* SPDX-License-Identifier: MIT
 * test_choice.c - what a person types to a question with numbered answers. */
#include "test_cli.h"
#include "face/cli/choice.h"

static const char *const labels[] = { "Red", "Green", "Blue, light" };

TEST(numbers_become_labels_and_anything_else_stays_as_it_is)
{
	static const struct {
		const char *typed;
		bool several;
		const char *answer; /* NULL: it is asked again */
	} cases[] = {
		{ "1", false, "Red" },
		{ " 3 ", false, "Blue, light" },
		{ "1", true, "Red" },
		{ "2, 1", true, "Green, Red" },
		{ "2,2", true, "Green, Green" },
		{ "1, 2", false, NULL },
		{ "0", false, NULL },
		{ "4", false, NULL },
		{ "1, 4", true, NULL },
		{ "99999999999999999999999", false, NULL },
		{ "", false, NULL },
		{ "  \t", true, NULL },
		{ "red", false, "red" },
		{ "1 and a half", false, "1 and a half" },
		{ "1,", true, "1," },
		{ "-1", false, "-1" },
		{ "gr\xc3\xbcn", false, "gr\xc3\xbcn" },
		{ "gr\xff"
		  "n",
		  false,
		  "gr\xef\xbf\xbd"
		  "n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf out = { 0 };
		print_message("# '%s'\n", cases[i].typed);

		bool known = choice_read(labels, COUNT_OF(labels), cases[i].several, str_from(cases[i].typed), &out);
		CHECK_INT(known, cases[i].answer != NULL);

		CHECK_STR(buf_str(&out), cases[i].answer ? cases[i].answer : "");
	}
}

TEST(a_question_without_choices_takes_words_only)
{
	AUTO_BUF struct buf out = { 0 };

	CHECK(!choice_read(NULL, 0, false, STR("1"), &out));
	CHECK(choice_read(NULL, 0, false, STR("as you like"), &out));
	CHECK_STR(buf_str(&out), "as you like");
}

const struct test_group choice_tests = GROUP(T(numbers_become_labels_and_anything_else_stays_as_it_is),
					     T(a_question_without_choices_takes_words_only));
