/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests in this program; each returns how many failed. */
#pragma once

int test_gitignore(void);
int test_glob(void);
int test_wildcard(void);
