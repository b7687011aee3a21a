/* SPDX-License-Identifier: MIT
 * test_plugin.c - all tests of plugins. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	int failed = test_version();

	failed += test_vars();
	failed += test_read();
	failed += test_validate();
	failed += test_zip();
	failed += test_tarball();
	failed += test_list();
	failed += test_install();
	return failed ? 1 : 0;
}
