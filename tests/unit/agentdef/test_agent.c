/* SPDX-License-Identifier: MIT
 * test_agent.c - all tests of agents. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	int failed = test_definition();

	failed += test_fields();
	failed += test_fail_closed();
	failed += test_source();
	failed += test_registry();
	failed += test_builtin();
	failed += test_roster();
	failed += test_choice();
	failed += test_memory();
	return failed ? 1 : 0;
}
