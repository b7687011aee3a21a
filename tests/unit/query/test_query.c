/* SPDX-License-Identifier: MIT
 * test_query.c - runs the groups of the query room. */
#include "unit.h"
#include "test_query.h"

int main(void)
{
	test_turn();
	test_calls();
	test_retry();
	test_cancel();
	test_compact();
	test_compact_valid();
	test_disk();
	test_fork_barrier();
	return tests_run();
}
