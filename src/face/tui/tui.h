/* SPDX-License-Identifier: MIT
 * tui.h - a person at a terminal that can move its cursor. */
#pragma once
#include "face/cli/flag.h"

int tui_run(const struct args *args); /* returns the exit code of the program */
