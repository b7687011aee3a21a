/* SPDX-License-Identifier: MIT
 * test_session.h - the test groups of the session room. Each returns the number of its failed tests. */
#pragma once

int test_checkpoint(void);
int test_store(void);
int test_lock(void);
int test_recorder(void);
int test_line_file(void);
int test_load(void);
int test_fork(void);
