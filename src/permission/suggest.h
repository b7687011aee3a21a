/* SPDX-License-Identifier: MIT
 * suggest.h - which rules would let a call, and others like it, run without a question next time. */
#pragma once
#include "permission/permission.h"

enum { MOST_SUGGESTIONS = 5 };

struct suggestions {
	const char *rules[MOST_SUGGESTIONS]; /* in the arena */
	size_t count;                        /* 0: no rule could say it */
};

void permission_suggest(struct arena *a, const struct tool_call *call, struct suggestions *ret);
