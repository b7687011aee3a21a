/* SPDX-License-Identifier: MIT
 * frontmatter.h - the head of an agent, skill or command file: `key: value` lines between two lines of dashes.
 *
 * Strict YAML is tried first. What is not YAML (one file in sixteen) is read again line by line, so that an unquoted
 * colon loses nothing. Both ways end in the same list of fields, each value a JSON text. Every leniency is a
 * diagnostic. */
#pragma once
#include "lib/json/json.h"
#include "lib/base/arena.h"

/* What a reader of people's files forgave, ignored or refused, with file and line. */
enum diagnostic_level {
	DIAGNOSTIC_NOTE,    /* untidy, but the meaning is clear */
	DIAGNOSTIC_WARNING, /* something that was written has no effect */
	DIAGNOSTIC_LOST,    /* the same, and it was meant to restrict: a run says so at its start */
	DIAGNOSTIC_ERROR,   /* the file is not used */
};

struct diagnostic {
	enum diagnostic_level level;
	unsigned line;       /* 1-based in the file; 0: none */
	const char *message; /* one line, valid UTF-8 */
	const void *about;   /* the source, where a reader has several; NULL: it has one */
};

enum { DIAGNOSTICS_LIMIT = 200 }; /* twice as many if they are errors */

/* { .arena = a } is empty; lives and dies with the arena */
struct diagnostics {
	struct arena *arena;
	struct diagnostic *list;
	size_t count;
};

/* Returns the new one, or NULL: beyond the limit nothing is kept, because a hostile file must not fill the memory with
 * complaints. */
struct diagnostic *diagnostics_add(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt,
				   ...) printf_like(4, 5);
struct diagnostic *diagnostics_addv(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt,
				    va_list args) printf_like(4, 0);
struct json_out;
void diagnostics_put(struct json_out *w, const struct diagnostic *list, size_t count); /* member "diagnostics" */
const char *diagnostic_level_name(enum diagnostic_level level); /* "note", "warning" (two levels), "error" */

enum frontmatter_flags {
	FRONTMATTER_KNOWN = 1 << 0,       /* starts a field even in the middle of prose, in any case, without a space */
	FRONTMATTER_TEXT = 1 << 1,        /* prose: a plain value is taken as it stands in the file */
	FRONTMATTER_RESTRICTION = 1 << 2, /* limits power: losing its line must not go unseen */
};

/* A row of a kind's table of fields, which ends with a row without a name. Aliases (NULL: no more of them) begin with the
 * letter of the name: every key of every file is looked up, and one look at that letter spares nearly all comparisons. */
enum { FRONTMATTER_ALIASES = 2 };
struct definition_reader;
struct definition_field {
	const char *name;
	const char *aliases[FRONTMATTER_ALIASES];
	unsigned flags; /* enum frontmatter_flags */
	/* For definition.h. at: the member of the definition that the row names. NULL: known, without effect. */
	void (*read)(struct definition_reader *r, const struct json *value, void *at);
	size_t offset;
};

const struct definition_field *definition_field_find(const struct definition_field *fields,
						     struct str key); /* any case */

struct frontmatter_field {
	struct str key;  /* as written, without quotes */
	unsigned line;   /* 1-based in the file */
	struct str json; /* one JSON value, NUL-terminated */
	bool literal;    /* the value was not YAML: a string of its lines as they stand */
	bool doubtful;   /* a restriction that is literal, and not even a line that could be taken by its word */
};

struct frontmatter_line {
	struct str key;
	unsigned line;
};

struct frontmatter {
	bool found;
	bool recovered;                   /* read by line */
	struct frontmatter_field *fields; /* in the order of the file; a key may come twice */
	size_t field_count;
	struct frontmatter_line *lost; /* restrictions that stand in the source but did not become a field */
	size_t lost_count;
	struct str body; /* what follows (or all), line ends LF, trimmed; may hold NULs */
};

enum {
	FRONTMATTER_LIMIT_BYTES = 256 << 10, /* between the dashes; more is an error and no field */
	FRONTMATTER_LIMIT_DEPTH = 32,
	FRONTMATTER_LIMIT_FIELDS = 1000,
};

/* Reads any bytes and never fails. Everything in *ret is in the arena, or borrowed from bytes. fields
 * NULL: every key is known. */
void frontmatter_read(struct frontmatter *ret, struct arena *arena, struct str bytes,
		      const struct definition_field *fields, struct diagnostics *diagnostics);

/* The text of a scalar, trimmed, in the arena; NULL for null, lists and maps. */
const char *frontmatter_text(const struct json *value, struct arena *arena, struct arena *scratch);
