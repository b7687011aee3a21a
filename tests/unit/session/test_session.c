/* SPDX-License-Identifier: MIT
 * test_session.c - all tests of this room. */
#include "stage.h"

int main(void)
{
	test_turn();
	test_host();
	test_several();
	test_effects();
	return tests_run();
}
