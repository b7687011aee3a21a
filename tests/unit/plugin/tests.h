/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_install(void);
int test_list(void);
int test_read(void);
int test_tarball(void);
int test_validate(void);
int test_vars(void);
int test_version(void);
int test_zip(void);
