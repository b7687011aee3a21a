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
int test_state(void);
int test_state_file(void);

int state_writer(const char *config_dir, const char *name, int rows); /* a program of its own: the exit code */
