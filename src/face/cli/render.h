/* SPDX-License-Identifier: MIT
 * render.h - foreign text made fit for a terminal. What a model, a file or a server wrote must not move
 * the cursor, set the title, fill the clipboard or turn the reading direction around: C0 and C1 controls,
 * DEL and the bidirectional overrides are shown as \x1b or \u202e, invalid UTF-8 as U+FFFD. */
#pragma once
#include "lib/base/buf.h"

void render_text(struct buf *out, struct str s); /* tab and newline stay; a CR before a newline is left out */
void render_line(struct buf *out, struct str s); /* the same on one line: tabs and newlines become spaces */
