/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_call(void);
int test_command(void);
int test_engine(void);
int test_event(void);
int test_hostile(void);
int test_http(void);
int test_input(void);
int test_matcher(void);
int test_output(void);
int test_set(void);
int test_template(void);
