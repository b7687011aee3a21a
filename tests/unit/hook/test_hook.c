/* SPDX-License-Identifier: MIT
 * test_hook.c - all tests of hooks. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	test_event();
	test_matcher();
	test_set();
	test_output();
	test_template();
	test_input();
	test_command();
	test_hostile();
	test_http();
	test_call();
	test_engine();
	return tests_run();
}
