/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests in this program; each returns how many failed. */
#pragma once

int test_attack(void);
int test_attack_place(void);
int test_repository(void);
int test_held(void);
int test_hidden(void);
int test_rule(void);
int test_path_rule(void);
int test_vectors(void);
int test_judge(void);
int test_child(void);
int test_property(void);
int test_record(void);
int test_shell_arithmetic(void);
int test_shell_command(void);
int test_shell_options(void);
int test_shell_oracle(void);
int test_shell_parse(void);
int test_suggest(void);
