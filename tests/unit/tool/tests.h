/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests in this program; each returns how many failed. */
#pragma once

int test_deferral(void);
int test_scheduler(void);
