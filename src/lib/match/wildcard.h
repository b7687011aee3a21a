/* SPDX-License-Identifier: MIT
 * wildcard.h - texts in which * stands for any characters, none included. A backslash takes a * or a backslash behind it
 * as itself. Time is bounded by the product of both lengths. */
#pragma once
#include "lib/base/str.h"

bool wildcard_match(struct str pattern, struct str text);
bool wildcard_is_plain(struct str pattern); /* no * that stands for something, and nothing escaped */
