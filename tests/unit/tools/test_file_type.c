/* SPDX-License-Identifier: MIT
 * test_file_type.c - the types of Grep. */
#include "unit.h"
#include "tests.h"
#include "tools/search/walk.h"

TEST(file_types_are_lists_of_globs)
{
	struct gitignore g = { 0 };

	CHECK(file_type_add(STR("c"), &g));
	CHECK(!file_type_add(STR("nonsense"), &g));
	CHECK_INT(gitignore_match(&g, STR("x.h"), false), IGNORE_DROP);
	CHECK_INT(gitignore_match(&g, STR("x.py"), false), IGNORE_NONE);
	gitignore_release(&g);
}

int test_file_type(void)
{
	return RUN_TESTS(T(file_types_are_lists_of_globs));
}
