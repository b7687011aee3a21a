/* SPDX-License-Identifier: MIT
 * flag.h - the command line of the program. One const table has the name, argument, effect and help text of every
 * flag; parser, help, completion and manual read its rows. Options of commands are in the library (cadre_command.h).
 *
 * To add a flag: 1. a row in flag.c, in the group where --help shows it; cadre_set() gets it, unless it is FLAG_OWN and
 * read with args_has() or args_value(); 2. a row in tests/unit/cli/test_flag.c. */
#pragma once
#include "lib/args/args.h"

enum flag_group { GROUP_RUN, GROUP_MODEL, GROUP_TOOLS, GROUP_SESSION, GROUP_OTHER, GROUP_COUNT };

enum flag_kind {
	FLAG_FILE = 1 << 0,   /* the value names a file; its text is the setting */
	FLAG_CHOICE = 1 << 1, /* chooses the session to begin with; another one is opened without it */
	FLAG_OWN = 1 << 2,    /* the program's own: not a setting of the library */
	FLAG_INPUT = 1 << 3,  /* without effect unless the input is stream-json */
	FLAG_OUTPUT = 1 << 4, /* the same of the output */
};

struct flag {
	struct cadre_option option;
	enum flag_group group;
	unsigned kind;
	const char *setting; /* for cadre_set(); NULL: called as the flag */
	const char *fixed;   /* the setting's value for a flag without one (default "") */
};

extern const struct flag flag_table[];
extern const size_t flag_count;

const struct flag *flag_of(const struct cadre_option *option);  /* NULL: the option is a command's */
static inline const char *flag_setting(const struct flag *flag) /* NULL: not a setting */
{
	return flag->kind & FLAG_OWN ? NULL : flag->setting ? flag->setting : flag->option.name;
}

/* A command line without a command; argv[0] is skipped. There is at most one word, the prompt. Options of commands are read
 * too: configure_check() refuses them. */
int flags_parse(int argc, const char *const *argv, struct args *ret_args, struct err *err);
static inline const char *flags_prompt(const struct args *args) /* NULL: none */
{
	return args->word_count ? args->words[0] : NULL;
}
