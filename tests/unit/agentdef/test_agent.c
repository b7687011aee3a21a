/* SPDX-License-Identifier: MIT
 * test_agent.c - all tests of agents. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	test_definition();
	test_fields();
	test_fail_closed();
	test_source();
	test_registry();
	test_builtin();
	test_roster();
	test_choice();
	test_memory();
	return tests_run();
}
