/* SPDX-License-Identifier: MIT
 * test_sandbox_main.c - runs the test groups of the sandbox room; each file has its own. */
#include "tests.h"
#include "unit.h"

int main(void)
{
	test_policy();
	test_profile();
	test_find();
	test_explained();
	test_hostile();
	return tests_run();
}
