/* SPDX-License-Identifier: MIT
 * test_subagent.c - all tests of children. */
#include "unit.h"
#include "tests.h"
#include "tests_worktree.h"

int main(void)
{
	int failed = test_placement();

	failed += test_classifier();
	failed += test_end_state();
	failed += test_fork();
	failed += test_report();
	failed += test_skill_recall();
	failed += test_meta();
	failed += test_tree();
	failed += test_agent_tool();
	failed += test_worktree_record();
	failed += test_worktree_guard();
	failed += test_worktree_take();
	failed += test_worktree_release();
	failed += test_worktree_pool();
	failed += test_worktree_sweep();
	return failed ? 1 : 0;
}
