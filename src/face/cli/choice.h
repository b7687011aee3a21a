/* SPDX-License-Identifier: MIT
 * choice.h - what a person types to a question with numbered answers. */
#pragma once
#include "lib/base/buf.h"

struct choices {
	char **labels; /* owned */
	size_t count;
	bool several; /* may be chosen together */
};

/* Appends the answer to out: the labels of "2" or "1, 3" with commas between, in the order typed, or any other text as it
 * is. False: nothing was typed, or a number that is out of range. */
bool choice_read(const struct choices *c, struct str typed, struct buf *out);
void choices_release(struct choices *c);
