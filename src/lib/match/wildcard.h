/* SPDX-License-Identifier: MIT
 * wildcard.h - patterns in which * matches any characters or none. A backslash escapes * and itself. Time is bounded by
 * the product of both lengths. */
#pragma once
#include "lib/base/str.h"

bool wildcard_match(struct str pattern, struct str text);
bool wildcard_is_plain(struct str pattern); /* no wildcard and no escape */
