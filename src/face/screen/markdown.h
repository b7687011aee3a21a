/* SPDX-License-Identifier: MIT
 * markdown.h - Markdown as lines for a terminal. Prose is wrapped at words; code is neither wrapped nor indented, so that it can be
 * copied. Without libmd4c the text is shown as it is, wrapped. */
#pragma once
#include "face/screen/paint.h"

/* Appends lines, each with its line end, of foreign text. wraps: prose is wrapped at words; otherwise only tables are fitted.
 * columns 0: for a screen reader, each row of a table is one sentence. */
void markdown_render(struct str text, unsigned columns, bool wraps, struct styled *out);
/* How much of a growing text is complete: whole blocks up to a blank line outside of fenced code. 0: none yet. */
size_t markdown_complete(struct str text);
