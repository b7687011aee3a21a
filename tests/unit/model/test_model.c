/* SPDX-License-Identifier: MIT
 * test_model.c - runs the groups of the model room. */
#include "unit.h"
#include "test_model.h"

int main(void)
{
	test_event_stream();
	test_call();
	test_governor();
	test_catalog();
	test_endpoints();
	return tests_run();
}
