/* SPDX-License-Identifier: MIT
 * test_tui.c - runs the tests of the terminal's parts that need no terminal. */
#include "test_tui.h"

int main(void)
{
	test_key();
	test_draft();
	test_edit();
	test_markdown();
	test_region();
	test_keymap();
	test_vim();
	return tests_run();
}
