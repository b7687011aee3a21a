/* SPDX-License-Identifier: MIT
 * skill_int.h - how a skill is put together from its fields.
 *
 * To add a field: a member in skill.h, a reader and a row in skill_fields.c, a row in docs/skills.md and in
 * tests/unit/skill/test_fields.c. */
#pragma once
#include "config/catalog/frontmatter.h"
#include "defs/skill/skill.h"

struct skill_reader {
	struct skill *s;
	struct diagnostics diagnostics;
	const char *key; /* of the field being read, as in the table */
	unsigned line;
	struct arena scratch; /* dies with the reader */
};

struct skill_field {
	const char *name;
	const char *aliases[FRONTMATTER_ALIASES];
	unsigned flags;                                                 /* enum frontmatter_flags */
	void (*read)(struct skill_reader *r, const struct json *value); /* NULL: known, but without effect here */
};

const struct skill_field *skill_field_find(struct str key); /* any case; NULL: unknown */
unsigned skill_field_flags(struct str key);                 /* a frontmatter_key_fn */

void skill_read_paths(struct skill_reader *r, const struct json *value); /* skill_paths.c */

void skill_note(struct skill_reader *r, enum diagnostic_level level, const char *fmt, ...) printf_like(3, 4);
void skill_refuse(struct skill_reader *r, const char *fmt, ...) printf_like(2, 3);
