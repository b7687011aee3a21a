/* SPDX-License-Identifier: MIT
 * text_replace.h - finding and replacing text as Edit does. The model sees LF only: a line end in its text stands for LF
 * and for CRLF alike, and what it puts in gets the line ends of the file. Bytes outside the matches never change. */
#pragma once
#include "lib/base/buf.h"

/* How often needle (not empty) occurs in text, without overlaps. */
size_t text_count(struct str text, struct str needle);
/* Appends text with the first `count` occurrences replaced. */
void text_replace(struct str text, struct str needle, struct str with, size_t count, struct buf *out);
