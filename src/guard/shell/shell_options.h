/* SPDX-License-Identifier: MIT
 * shell_options.h - the options that are known of a program, and the parts of its command line that follow from them: joined
 * letters are taken apart (-nO is -n -O), and values are separated from operands.
 *
 * A program is described by two texts: its short options (blanks do not count), and its long options without their dashes.
 * Marks behind a letter or a word say what is special about it:
 *
 *     :  it has a value, joined (-n5, --lines=5) or in the next word; twice: two values
 *     ?  it may have a value, and only a joined one
 *     <  its value is a file that the program reads          >  its value is a file that the program writes
 *     !  it stands for the operand that is a pattern: all operands are files then
 *     +  it makes operands harmless that would change something without it: git tag -l x
 *
 * In letters, # stands for a number (-5). A long option must be written out: what an abbreviation means depends on all the
 * options of the installed version, so an abbreviation is an unknown option. */
#pragma once
#include "guard/shell/shell_command.h"

enum shell_part_kind {
	PART_OPTION,  /* a known one; its values follow */
	PART_TEXT,    /* a value */
	PART_READ,    /* a value that is a file */
	PART_WRITE,   /* a value that is a file to be written */
	PART_OPERAND, /* a file, or what may be one; also a single dash */
	PART_PATTERN, /* an operand that is not a file, or the value of an option that stands for it */
	PART_UNKNOWN, /* an option that is not known, or a value that looks like an option */
};

struct shell_part {
	enum shell_part_kind kind;
	const struct shell_word *word; /* it stands in this one */
	struct str text;               /* of an unknown option: what may be its value */
	const char *marks;             /* of an option and its values; else "" */
};

enum {
	PROGRAM_READS = 1 << 0, /* changes nothing and runs nothing with the options that are known */
	PROGRAM_OPEN = 1 << 1,  /* no other option of it writes or runs, so that more words may be put in: *.c, xargs */
	PROGRAM_WRITES = 1 << 2,      /* makes, changes or removes its operands */
	PROGRAM_EDITS = 1 << 3,       /* acceptEdits lets it pass */
	PROGRAM_NO_OPERANDS = 1 << 4, /* an operand would change something */
	PROGRAM_ONE_DASH = 1 << 5, /* long options begin with one dash, no letters, values stand apart, no --: find */
	PROGRAM_NO_DASH = 1 << 6,  /* every word is NAME=VALUE: dd */
	PROGRAM_APART = 1 << 7,    /* the value of a letter is never joined to it: tree */
};

enum { PROGRAM_NO_FILES = 255 };

struct shell_program {
	const char *name; /* of git: the subcommand; of others several with | between */
	unsigned flags;
	uint8_t texts;       /* so many operands at the front are not files; PROGRAM_NO_FILES: none is one */
	const char *letters; /* NULL: no options are listed; a program that reads may have any */
	const char *words;
	/* Is this part harmless? operands: so many came before it. NULL: what is known is */
	bool (*check)(const struct shell_part *part, size_t operands);
};

/* ret_first: the word behind its name. NULL: not known. */
const struct shell_program *shell_find_program(const struct shell_command *c, size_t *ret_first);
const struct shell_program *shell_find_git(const struct shell_command *c, size_t *ret_first); /* shell_read_only.c */

struct shell_parts {
	const struct shell_program *program;
	const struct shell_word *words; /* behind the name */
	size_t count;
	size_t next;
	unsigned texts;     /* so many operands are not files */
	struct str letters; /* rest of a word with joined letters */
	struct str joined;  /* value in the word of its option; p is NULL: none */
	const char *values; /* marks of the values that come next */
	const char *marks;
	bool ended; /* by -- */
};

/* If an option is not known, the operands may all be files. */
struct shell_parts shell_parts_of(const struct shell_program *program, const struct shell_command *c, size_t first);
/* False: there are no more. */
bool shell_next_part(struct shell_parts *p, struct shell_part *ret_part);

/* All options are known, none writes unless its program may, and no operand changes something. */
bool shell_options_are_harmless(const struct shell_program *program, const struct shell_command *c, size_t first);

/* shell_read_only.c: parts that are harmless, for programs where the options do not say enough. */

bool check_date_part(const struct shell_part *part, size_t operands);
bool check_jq_part(const struct shell_part *part, size_t operands);
bool check_ps_part(const struct shell_part *part, size_t operands);
bool check_read_part(const struct shell_part *part, size_t operands);
bool check_sed_part(const struct shell_part *part, size_t operands);
bool check_strings_part(const struct shell_part *part, size_t operands);
bool check_uniq_part(const struct shell_part *part, size_t operands);
/* shell_command.c: xargs stood before the command: it adds words that are not known. */
static inline bool shell_gets_more_words(const struct shell_command *c, const struct shell_command *stripped)
{
	for (const struct shell_word *w = c->words; w < stripped->words; w++)
		if (str_is(w->text, "xargs"))
			return true;
	return false;
}
