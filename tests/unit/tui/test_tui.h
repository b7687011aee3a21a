/* SPDX-License-Identifier: MIT
 * test_tui.h - the tests of this room by subject. */
#pragma once
#include "unit.h"

int test_key(void);
int test_draft(void);
int test_edit(void);
int test_markdown(void);
int test_region(void);
int test_keymap(void);
int test_vim(void);
