/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_fields(void);
int test_listing(void);
int test_paths(void);
int test_registry(void);
int test_render(void);
int test_skill_text(void);
int test_template(void);
