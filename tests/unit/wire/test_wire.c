/* SPDX-License-Identifier: MIT
 * test_wire.c - runs the groups of the wire room. */
#include "unit.h"
#include "test_wire.h"

int main(void)
{
	test_answer();
	test_failure();
	test_refusals();
	test_openai_request();
	test_openai_stream();
	return tests_run();
}
