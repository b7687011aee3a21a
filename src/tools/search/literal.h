/* SPDX-License-Identifier: MIT
 * literal.h - fast search for a fixed text, with ASCII case ignored if wanted; and counting of lines. */
#pragma once
#include "lib/base/base.h"
#include "lib/base/str.h"

struct literal {
	char *text; /* owned; lower case when nocase */
	size_t n;
	bool nocase;
	size_t rare, rare2; /* places in text of the two bytes that are least likely in source text */
};

void literal_init(struct literal *l, struct str text, bool nocase); /* text is copied, not empty */
void literal_release(struct literal *l);
const char *literal_find(const struct literal *l, const char *p, size_t n); /* the first one, or NULL */

size_t count_line_feeds(const char *p, size_t n);
const char *find_non_ascii(const char *p, const char *end); /* the first such byte, or end */
