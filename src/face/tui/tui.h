/* SPDX-License-Identifier: MIT
 * tui.h - a person at a terminal. */
#pragma once
#include "face/cli/flag.h"

struct buf;
bool tui_key_problems(struct buf *out);           /* of keybindings.json, a line each; false: there is no such file */
int tui_run(const struct args *args, bool plain); /* plain: lines only. Returns the exit code of the program */
