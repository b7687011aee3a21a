/* SPDX-License-Identifier: MIT
 * test_match.c - all tests of patterns. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	test_gitignore();
	test_glob();
	test_wildcard();
	return tests_run();
}
