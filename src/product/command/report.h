/* SPDX-License-Identifier: MIT
 * report.h - how the files of this room put a report together. */
#pragma once
#include <cadre.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"

struct report_row {
	enum cadre_tone tone;
	const char **cells;
	size_t count;
};

struct cadre_report {
	struct buf json;
	struct report_row *rows;
	size_t count, cap;
	bool bad;
	struct arena arena; /* holds the cells */
};

/* The cells end with NULL; they are copied. */
void report_row(struct cadre_report *r, enum cadre_tone tone, ...) __attribute__((sentinel));
void report_line(struct cadre_report *r, enum cadre_tone tone, const char *fmt, ...) printf_like(3, 4); /* one cell */
