/* SPDX-License-Identifier: MIT
 * test_cli.c - runs all groups as one TAP stream. */
#include <locale.h>
#include "test_cli.h"

int main(void)
{
	const struct test_group *groups[] = { &args_tests,   &choice_tests, &completion_tests, &editor_tests,
					      &render_tests, &screen_tests, &input_tests,      &face_tests,
					      &tree_tests,   &verb_tests };
	struct CMUnitTest all[96];
	size_t n = 0;

	setlocale(LC_CTYPE, "C.UTF-8"); /* as edit.c does */

	for (size_t i = 0; i < COUNT_OF(groups); i++)
		for (size_t k = 0; k < groups[i]->count && n < COUNT_OF(all); k++)
			all[n++] = groups[i]->tests[k];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	int failed = _cmocka_run_group_tests("cli", all, n, NULL, NULL);
	buf_release(&fake_out);
	buf_release(&fake_settings);
	return failed;
}
