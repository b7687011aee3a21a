/* SPDX-License-Identifier: MIT
 * test_modeld.h - the groups of this program. */
#pragma once
#include "unit.h"

int http_in_tests(void);
int conn_tests(void);
