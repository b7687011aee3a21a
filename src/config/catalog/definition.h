/* SPDX-License-Identifier: MIT
 * definition.h - what all definitions (agents, skills, commands, output styles) have in common, and how one is read from its
 * frontmatter. Immutable once made, shared by reference. Reading forgives where a file is untidy and is strict where that
 * would widen what the definition may do; everything that was forgiven or refused is a diagnostic. */
#pragma once
#include "config/catalog/frontmatter.h"
#include "lib/base/buf.h"

enum definition_source {
	SOURCE_BUILT_IN,
	SOURCE_PLUGIN,
	SOURCE_USER,
	SOURCE_PROJECT,
	SOURCE_FLAG,
	SOURCE_MANAGED,
	SOURCE_COUNT
};

const char *definition_source_name(enum definition_source source); /* "built-in", "plugin", "userSettings", ... */

/* The members are a macro so that a kind's struct has them by their own names: d->name, not d->common.name. Texts are in the
 * arena; NULL: not given. */
#define DEFINITION_MEMBERS                                                                               \
	unsigned refs;                                                                                   \
	struct arena arena;                                                                              \
	enum definition_source source;                                                                   \
	const char *file;        /* path, or "settings.json#agents.NAME", or "built-in" */               \
	const char *plugin;      /* name of the plugin it comes from */                                  \
	const char *name;        /* how it is called */                                                  \
	const char *description; /* when to use it */                                                    \
	struct {                                                                                         \
		const char *field;                                                                       \
		unsigned line;                                                                           \
	} * fields; /* where each known field was found */                                               \
	size_t field_count;                                                                              \
	struct diagnostic *diagnostics;                                                                  \
	size_t diagnostic_count;                                                                         \
	bool ignored;                          /* the file is not a definition: skipped, not wrong */    \
	bool refused;                          /* it may not be used: a restriction could not be read */ \
	void (*release)(struct definition * d) /* what is not in the arena; NULL: there is none */

struct definition {
	DEFINITION_MEMBERS;
};

/* In the struct of a kind, as its first member */
#define DEFINITION_HEAD                     \
	union {                             \
		struct definition common;   \
		struct {                    \
			DEFINITION_MEMBERS; \
		};                          \
	}

void *definition_new(size_t size, enum definition_source source, const char *file, const char *name); /* a reference */
void definition_unref(struct definition *d);                                        /* NULL is allowed */
const char *definition_first_error(const struct definition *d, unsigned *ret_line); /* NULL: there is none */

struct definition_reader {
	struct definition *d;
	const struct definition_format *format;
	struct diagnostics diagnostics;
	const char *key; /* of the field being read, as in the table */
	unsigned line;
	struct arena scratch; /* released with the reader */
};

struct definition_format {
	const char *noun;                      /* "agent" */
	const struct definition_field *fields; /* ends with a row without a name */
	bool terse;                            /* no notes about aliases and about fields without effect */
	/* Whether a value of a restriction that cannot be read may limit anything, by its text. NULL: it may. */
	bool (*limits)(const char *field, struct str text);
};

/* d is kept, not owned. Between both calls the reader collects diagnostics; definition_read_end() gives them to d. */
static inline void definition_read_begin(struct definition_reader *r, struct definition *d,
					 const struct definition_format *format)
{
	*r = (struct definition_reader){ .d = d, .format = format, .diagnostics = { .arena = &d->arena } };
}

static inline void definition_read_end(struct definition_reader *r)
{
	r->d->diagnostics = r->diagnostics.list;
	r->d->diagnostic_count = r->diagnostics.count;
	arena_release(&r->scratch);
}

/* All fields of a file. What the frontmatter leaves (the body) is in *ret, valid until definition_read_end(). */
void definition_read_markdown(struct definition_reader *r, struct str text, struct frontmatter *ret);
/* One member of a JSON object that stands for a field. count: of the object, for the list of fields. */
void definition_read_member(struct definition_reader *r, const struct definition_field *f, const struct json *value,
			    size_t count);

void definition_note(struct definition_reader *r, enum diagnostic_level level, const char *fmt, ...) printf_like(3, 4);
void definition_refuse(struct definition_reader *r, const char *fmt, ...) printf_like(2, 3);
/* The value has no meaning for its field: a warning, as if the field were absent. */
static inline void definition_ignore(struct definition_reader *r, const char *expected)
{
	definition_note(r, DIAGNOSTIC_WARNING, "%s: expected %s; the field is ignored", r->key, expected);
}

/* The text of a scalar, trimmed, in the definition's arena; NULL for null, lists and maps. */
static inline const char *definition_text(struct definition_reader *r, const struct json *value)
{
	return frontmatter_text(value, &r->d->arena, &r->scratch);
}

/* The index of the value in a list of words that ends with NULL, any case; -1: not in the list. */
int definition_word(struct definition_reader *r, const struct json *value, const char *const *words);

/* Of tools or skills, as written, in order, without duplicates: a text with commas or blanks between them, a list, JSON in a
 * text, a map of booleans. Parentheses hold together: `Bash(git add *), Read` is two names. */
struct name_list {
	bool present; /* the key is there: present and empty means none, absent means inherit */
	bool all;     /* "*" */
	const char **names;
	size_t count;
};

/* What happens if a part cannot be read. */
enum names_rule { NAMES_WARN, NAMES_REFUSE, NAMES_QUIET };
/* *ret need not be initialised. Returns the last complaint; NULL: all of it was read. */
const char *definition_names(struct definition_reader *r, const struct json *value, struct name_list *ret,
			     enum names_rule rule);

/* The places and options that texts of a plugin may name: one reader for skills, agents, hooks and servers. */

/* Borrowed; NULL: has no value */
struct plugin_vars {
	const char *root, *data, *project;
	const char *const *options; /* the user's, "KEY=value", NULL-terminated */
};

/* Of CLAUDE_PLUGIN_ROOT, CLAUDE_PLUGIN_DATA, CLAUDE_PROJECT_DIR and, with options, user_config.KEY. NULL: none. */
const char *plugin_vars_find(const struct plugin_vars *vars, struct str name, bool with_options);
/* Adds text with ${NAME} replaced where NAME has a value; everything else stays as it is. */
void plugin_vars_expand(struct buf *out, struct str text, const struct plugin_vars *vars, bool with_options);
