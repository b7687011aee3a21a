/* SPDX-License-Identifier: MIT
 * test_hook.c - all tests of hooks. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	int failed = test_event();

	failed += test_matcher();
	failed += test_set();
	failed += test_output();
	failed += test_template();
	failed += test_input();
	failed += test_command();
	failed += test_hostile();
	failed += test_http();
	failed += test_call();
	failed += test_engine();
	return failed ? 1 : 0;
}
