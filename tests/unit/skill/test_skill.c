/* SPDX-License-Identifier: MIT
 * test_skill.c - all tests of skills. */
#include "tests.h"
#include "unit.h"

int main(void)
{
	test_fields();
	test_template();
	test_registry();
	test_listing();
	test_paths();
	test_render();
	test_skill_text();
	return tests_run();
}
