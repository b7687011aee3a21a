/* SPDX-License-Identifier: MIT
 * frontmatter_int.h - what the frontmatter_*.c files share. */
#pragma once
#include "lib/base/buf.h"
#include "config/catalog/frontmatter.h"

struct fm_reader {
	struct arena *arena;
	const struct definition_field *known; /* the table; NULL: every key is known */
	struct diagnostics *diagnostics;
	struct frontmatter_field *fields;
	size_t count;
	struct buf json; /* scratch: the value being written */
};

/* frontmatter_scan.c */
struct str fm_trim(struct str s); /* as str_trim, and no-break spaces, byte order marks, VT and FF */

/* The key that a line without indentation starts. */
struct fm_key {
	struct str name; /* without quotes */
	unsigned flags;
	struct str value; /* what follows the colon, blanks and no-break spaces skipped */
};
bool fm_key(struct str line, const struct definition_field *known, struct fm_key *ret);
unsigned fm_flags(const struct definition_field *known, struct str key); /* 0: unknown */

/* frontmatter_yaml.c: appends the fields of a YAML mapping. False if text is not one; nothing is appended then and
 * *ret_why, unless NULL, has the reason. line is that of the first line of text. */
struct fm_problem {
	const char *what; /* static */
	unsigned line;
};
bool fm_yaml(struct fm_reader *r, struct str text, unsigned line, struct fm_problem *ret_why);
struct frontmatter_field *fm_add(struct fm_reader *r, struct str key, unsigned line);

/* frontmatter_recover.c: appends the fields of a text that is not YAML. */
void fm_recover(struct fm_reader *r, struct str text, unsigned line);

/* The meaning of prose that stands behind a key. */
void fm_fold(struct buf *out, struct str plain);    /* a plain value over several lines, as YAML folds it */
void fm_literal(struct buf *out, struct str value); /* lines kept; quotes and block marks taken off */

static inline bool fm_blank(char c)
{
	return c == ' ' || c == '\t';
}
