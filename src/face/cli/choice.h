/* SPDX-License-Identifier: MIT
 * choice.h - what a person types to a question with numbered answers. */
#pragma once
#include "lib/base/buf.h"

/* Appends the answer to out: the labels of "2" or "1, 3" with commas between, in the order typed, or any other text as it
 * is. several: they may be chosen together. False: nothing was typed, or a number that is out of range. */
bool choice_read(const char *const *labels, size_t count, bool several, struct str typed, struct buf *out);
