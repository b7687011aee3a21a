/* SPDX-License-Identifier: MIT
 * test_plugin.c - all tests of plugins. */
#include "unit.h"
#include "tests.h"

int main(void)
{
	test_version();
	test_vars();
	test_read();
	test_validate();
	test_zip();
	test_tarball();
	test_list();
	test_install();
	return tests_run();
}
