/* SPDX-License-Identifier: MIT
 * tui.h - a person at a terminal that can move its cursor. */
#pragma once
#include "face/cli/flag.h"

enum { TUI_WANTS_LINES = -1 }; /* the setting axScreenReader is on: the line loop is to run, and nothing was shown */
struct buf;
bool tui_key_problems(struct buf *out); /* of keybindings.json, a line each; false: there is no such file */
int tui_run(const struct args *args);   /* returns the exit code of the program */
