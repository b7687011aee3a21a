/* SPDX-License-Identifier: MIT
 * test_wire.c - runs the groups of the wire room. */
#include "unit.h"
#include "test_wire.h"

int main(void)
{
	test_answer();
	test_failure();
	test_refusals();
	test_chat_request();
	test_chat_stream();
	return tests_run();
}
