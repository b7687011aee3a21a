/* SPDX-License-Identifier: MIT
 * report.h - how commands put a report together. */
#pragma once
#include <cadre_command.h>
#include "lib/json/json_write.h"
#include "defs/policy/sources.h"
#include "product/session/session.h"

struct report_row {
	enum cadre_style style;
	const char **cells;
	size_t count;
};

struct cadre_report {
	struct buf json;
	struct report_row *rows;
	size_t count, cap;
	bool bad;
	int code;           /* of the program, if it says more than bad does; 0: it does not */
	struct arena arena; /* holds the cells */
};

/* The cells end with NULL; they are copied. */
void report_row(struct cadre_report *r, enum cadre_style style, ...) __attribute__((sentinel));
void report_line(struct cadre_report *r, enum cadre_style style, const char *fmt, ...) printf_like(3, 4); /* one cell */

/* "FILE:LINE" in the arena of the report; without the line if that is 0. */
const char *report_position(struct cadre_report *r, const char *file, unsigned line);
/* An array for programs; for people "a, b" is added to text. */
void report_put_names(struct json_out *w, const char *key, const char *const *names, size_t count, struct buf *text);
/* The files of a catalog that could not be read: rows, and "failedFiles" for programs. */
void report_failed_files(struct cadre_report *r, struct json_out *w, const struct catalog *catalog);
/* What was found in a definition: rows, as diagnostics_put() has it for programs. */
void report_diagnostics(struct cadre_report *r, const char *file, const struct diagnostic *list, size_t count);
