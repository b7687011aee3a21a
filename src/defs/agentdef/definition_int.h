/* SPDX-License-Identifier: MIT
 * definition_int.h - how a definition is put together from its fields.
 *
 * To add a field: a member in definition.h, a reader and a row in definition_fields.c, a row in docs/agents.md and in
 * tests/unit/agent/test_fields.c. */
#pragma once
#include "defs/agentdef/definition.h"
#include "config/catalog/frontmatter.h"

struct definition_reader {
	struct agent_definition *d;
	struct diagnostics diagnostics;
	const char *key; /* of the field being read, as in the table */
	unsigned line;
	bool doubtful;        /* the field's value could not be read with certainty */
	struct arena scratch; /* dies with the reader */
};

typedef void agent_field_fn(struct definition_reader *r, const struct json *value);

struct agent_field {
	const char *name;
	const char *aliases[FRONTMATTER_ALIASES];
	unsigned flags;       /* enum frontmatter_flags */
	agent_field_fn *read; /* NULL: known, but without effect here */
};

const struct agent_field *agent_field_find(struct str key); /* any case; NULL: unknown */
extern const struct agent_field agent_fields[];             /* ends with a row without a name */
unsigned agent_field_flags(struct str key);                 /* a frontmatter_key_fn */

void definition_note(struct definition_reader *r, enum diagnostic_level level, const char *fmt, ...) printf_like(3, 4);
void definition_refuse(struct definition_reader *r, const char *fmt, ...) printf_like(2, 3);
/* The text of a scalar, trimmed, in the definition's arena; NULL for null, lists and maps. */
const char *definition_text(struct definition_reader *r, const struct json *value);

/* definition_tools.c: comma strings, lists, JSON strings, maps of booleans. strict: what cannot be read refuses. */
void definition_names(struct definition_reader *r, const struct json *value, struct name_list *ret, bool strict);
agent_field_fn definition_read_tools, definition_read_disallowed_tools;

/* definition_nested.c: both in the form that settings have. */
agent_field_fn definition_read_hooks, definition_read_mcp_servers;
