/* SPDX-License-Identifier: MIT
 * tests_worktree.h - the test groups of the worktree files. Each returns the number of its failed tests. */
#pragma once

int test_worktree_record(void);
int test_worktree_take(void);
int test_worktree_release(void);
int test_worktree_pool(void);
int test_worktree_sweep(void);
int test_worktree_guard(void);
