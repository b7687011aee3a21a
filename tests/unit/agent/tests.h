/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_agent_tool(void);
int test_classifier(void);
int test_end_state(void);
int test_fork(void);
int test_life(void);
int test_limits(void);
int test_meta(void);
int test_placement(void);
int test_report(void);
int test_tree(void);
