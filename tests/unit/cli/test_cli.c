/* SPDX-License-Identifier: MIT
 * test_cli.c - runs all groups as one TAP stream. */
#include "test_cli.h"

int main(void)
{
	const struct test_group *groups[] = { &flag_tests,  &choice_tests, &completion_tests, &render_tests,
					      &input_tests, &face_tests,   &tree_tests,       &table_tests };

	for (size_t i = 0; i < COUNT_OF(groups); i++)
		tests_add(groups[i]->tests, groups[i]->count);
	int failed = tests_run();
	out_close();
	return failed;
}
