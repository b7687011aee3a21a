/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_definition(void);
int test_fields(void);
int test_fail_closed(void);
