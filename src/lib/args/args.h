/* SPDX-License-Identifier: MIT
 * args.h - reads words and options against tables of struct cadre_option: the flags of the program and the options of commands.
 *
 * Grammar (that of the programs people already script): `--name value`, `--name=value`, `-x value`; `--` ends the options; a
 * required value is taken whatever it looks like, an optional one only if it does not look like an option; a variadic option in
 * the form `--name a b c` takes everything up to the next option or `--`. An empty value is a value. */
#pragma once
#include <cadre_command.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"

struct args_value {
	const struct cadre_option *option;
	const char *value; /* "" for an option without a value; NULL for an optional value that was not given */
};

/* What was said. Values are borrowed from argv or live in the arena. */
struct args {
	struct args_value *given; /* owned; in the order of the command line */
	size_t given_count, given_cap;
	const char **words; /* the other tokens, NULL-terminated */
	size_t word_count;
	size_t plain_words; /* those before "--"; all, if there is none */
	struct arena arena;
};

/* options ends with NULL; program is what --help is an option of. On failure err says what was wrong and what was expected;
 * ret is released. */
int args_parse(int argc, const char *const *argv, const struct cadre_option *const *options, const char *program,
	       struct args *ret_args, struct err *err);
void args_release(struct args *args);
#define AUTO_ARGS CLEANUP(args_release)

const struct args_value *args_find(const struct args *args, const char *name); /* the last one given, or NULL */
static inline bool args_has(const struct args *args, const char *name)
{
	return args_find(args, name) != NULL;
}

/* the last one; NULL: not given */
static inline const char *args_value(const struct args *args, const char *name)
{
	const struct args_value *given = args_find(args, name);

	return given ? given->value : NULL;
}

/* All values of an option that may be repeated; in the arena, NULL behind the last. */
const char *const *args_values(struct args *args, const char *name);
/* By long name or alias. */
const struct cadre_option *option_find(const struct cadre_option *const *options, struct str name);
