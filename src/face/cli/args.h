/* SPDX-License-Identifier: MIT
 * args.h - the command line. One const table says what every flag is called, what it takes, what it
 * does and how --help explains it; whatever needs to know the flags reads its rows.
 *
 * To add a flag: 1. a row in option_table.c, in the group where --help shall show it; 2. either .setting, the
 * name that cadre_set() knows, or .field, a member of struct args that a face reads; 3. a row in
 * tests/unit/cli/test_args.c.
 *
 * Grammar (that of the programs people already script): `--name value`, `--name=value`, `-x value`; `--`
 * ends the flags; a required value is taken whatever it looks like, an optional one only if it does not
 * look like a flag; a variadic flag in the form `--name a b c` takes everything up to the next flag or
 * `--`, so the prompt goes before it or behind `--`. An empty value is a value. What is no flag is the
 * prompt, and there is one prompt. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

enum option_arg { OPTION_NONE, OPTION_REQUIRED, OPTION_OPTIONAL };

enum option_flags {
	OPTION_VARIADIC = 1 << 0, /* takes several tokens, and may be repeated: each token counts */
	OPTION_LIST = 1 << 1,     /* the same, but all tokens together become one comma list */
	OPTION_FILE = 1 << 2,     /* the value names a file; its text is the setting */
	OPTION_CHOICE = 1 << 3,   /* chooses the session to begin with; another one is opened without it */
	OPTION_KEPT = 1 << 4,     /* of a verb, which looks for every value in args->given itself */
	OPTION_JOINED = 1 << 5,   /* its optional value stands behind '=' only */
};

enum option_group { GROUP_RUN, GROUP_MODEL, GROUP_TOOLS, GROUP_SESSION, GROUP_OTHER, GROUP_COUNT };

struct option {
	const char *name;  /* long, without dashes */
	const char *alias; /* another long spelling, or NULL */
	char letter;       /* short, or 0 */
	enum option_arg arg;
	unsigned flags;
	enum option_group group;
	const char *value;          /* how the value is called in --help; NULL without one */
	const char *const *choices; /* NULL-terminated; NULL: any value */
	const char *setting;        /* for cadre_set(); NULL: see field */
	const char *fixed;          /* the setting's value for a flag without one (default "") */
	size_t field;               /* in struct args: const char * if a value is required, else bool */
	const char *help;           /* one or more sentences; wrapped by --help */
};

extern const struct option option_table[];
extern const size_t option_count;

struct option_value {
	const struct option *option;
	const char *value; /* "" for a flag without a value; NULL for an optional value that was not given */
};

/* What was said. Values are borrowed from argv or live in the arena. */
struct args {
	const char *prompt; /* NULL: none. First: a row whose .field is 0 has no field */
	bool print, verbose, partial, init_only, help, version, json, list, forget, all, follow, dry_run, force;
	const char *output_format; /* NULL: not given */
	const char *input_format;
	const char *session;             /* of `cadre stop`; NULL: not given */
	const char *to;                  /* of `cadre rewind`; NULL: not given */
	const char *older_than, *format; /* of `cadre sessions`; NULL: not given */
	const char *scope;               /* of `cadre mcp`; NULL: not given, as the next one */
	const char *transport, *url;
	struct option_value *given; /* every option with a setting or OPTION_KEPT, in the order of the command line */
	size_t given_count;
	const char **words; /* of a verb: what is no flag, without the verb itself */
	size_t word_count;
	size_t plain_words; /* those before "--"; all, if there is none */
	struct arena arena;
};

/* argv[0] is skipped. On failure err says what was wrong and what was expected; ret is released. */
int args_parse(int argc, char *const argv[], struct args *ret_args, struct err *err);
/* The command line of a verb (argv[1]): --json, --help and the flags named in options, which ends with NULL. */
int args_parse_verb(int argc, char *const argv[], const char *const *options, struct args *ret_args, struct err *err);
void args_release(struct args *args);
#define AUTO_ARGS CLEANUP(args_release)

/* The last one given, or NULL. */
const struct option_value *args_find(const struct args *args, const char *name);
const struct option *option_find(struct str name); /* by long name or alias */

void help_write(struct buf *out);             /* the text of --help */
extern const char help_intro[], help_outro[]; /* its beginning and its end */
extern const char *const help_group_titles[GROUP_COUNT];
