/* SPDX-License-Identifier: MIT
 * report.h - how the files of this room put a report together. */
#pragma once
#include <cadre.h>
#include "lib/json/json_write.h"
#include "defs/policy/sources.h"
#include "product/session/session.h"

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

void app_put_line(struct json_out *w, unsigned line); /* "line": null if 0 */
void app_report_diagnostics(struct cadre_report *r, const struct agent_definition *d);
/* Ends a function of the API: the report is handed out, or freed with the error in why. */
int app_give_report(int status, struct cadre_report *report, struct cadre_report **ret_report, const struct err *err,
		    char *why, size_t why_size);
