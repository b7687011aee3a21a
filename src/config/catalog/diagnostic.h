/* SPDX-License-Identifier: MIT
 * diagnostic.h - what a reader of people's files forgave, ignored or refused, with file and line. */
#pragma once
#include "lib/base/arena.h"

enum diagnostic_level {
	DIAGNOSTIC_NOTE,    /* untidy, but the meaning is clear */
	DIAGNOSTIC_WARNING, /* something that was written has no effect */
	DIAGNOSTIC_ERROR,   /* the file is not used */
};

struct diagnostic {
	enum diagnostic_level level;
	unsigned line;       /* 1-based in the file; 0: none */
	const char *message; /* one line, valid UTF-8 */
};

enum { DIAGNOSTICS_LIMIT = 200 }; /* twice as many if they are errors */

/* { .arena = a } is empty; lives and dies with the arena */
struct diagnostics {
	struct arena *arena;
	struct diagnostic *list;
	size_t count, cap;
};

/* Beyond the limit nothing is kept: a hostile file must not fill the memory with complaints. */
void diagnostics_add(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt, ...)
	printf_like(4, 5);
void diagnostics_addv(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt, va_list args)
	printf_like(4, 0);
const char *diagnostic_level_name(enum diagnostic_level level); /* "note", "warning", "error" */
