/* SPDX-License-Identifier: MIT
 * test_model.c - runs the groups of the model room. */
#include "unit.h"
#include "test_model.h"

int main(void)
{
	test_answer();
	test_event_stream();
	test_failure();
	test_refusals();
	test_call();
	test_governor();
	test_catalog();
	test_endpoints();
	test_openai_request();
	test_openai_stream();
	return tests_run();
}
