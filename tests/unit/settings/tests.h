/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_belief(void);
int test_env(void);
int test_frontmatter(void);
int test_git_index(void);
int test_layers(void);
int test_store(void);
int test_trust(void);
