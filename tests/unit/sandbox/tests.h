/* SPDX-License-Identifier: MIT
 * tests.h - the test groups of the sandbox room. Each returns the number of its failed tests. */
#pragma once

int test_explained(void);
int test_find(void);
int test_hostile(void);
int test_policy(void);
int test_profile(void);
