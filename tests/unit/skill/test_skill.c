/* SPDX-License-Identifier: MIT
 * test_skill.c - all tests of skills. */
#include "tests.h"

int main(void)
{
	int failed = test_fields();

	failed += test_template();
	failed += test_registry();
	failed += test_listing();
	failed += test_paths();
	failed += test_render();
	return failed ? 1 : 0;
}
