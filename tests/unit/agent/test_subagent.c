/* SPDX-License-Identifier: MIT
 * test_subagent.c - all tests of children. */
#include "unit.h"
#include "tests.h"
#include "tests_worktree.h"

int main(void)
{
	test_placement();
	test_classifier();
	test_end_state();
	test_fork();
	test_report();
	test_life();
	test_limits();
	test_meta();
	test_tree();
	test_agent_tool();
	test_worktree_record();
	test_worktree_guard();
	test_worktree_take();
	test_worktree_release();
	test_worktree_pool();
	test_worktree_sweep();
	return tests_run();
}
