/* SPDX-License-Identifier: MIT
 * test_query.h - the test groups of the query room. Each returns the number of its failed tests. */
#pragma once

int test_turn(void);
int test_calls(void);
int test_retry(void);
int test_cancel(void);
int test_compact(void);
int test_compact_valid(void);
int test_disk(void);
int test_fork_barrier(void);
