/* SPDX-License-Identifier: MIT
 * test_message.c - runs the groups of the message room, lowest first. */
#include "unit.h"
#include "test_message.h"

int main(void)
{
	test_segment();
	test_transcript();
	test_body();
	test_usage();
	return tests_run();
}
