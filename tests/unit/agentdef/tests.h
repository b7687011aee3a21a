/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_builtin(void);
int test_choice(void);
int test_definition(void);
int test_fields(void);
int test_fail_closed(void);
int test_memory(void);
int test_registry(void);
int test_roster(void);
int test_source(void);
