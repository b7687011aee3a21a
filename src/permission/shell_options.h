/* SPDX-License-Identifier: MIT
 * shell_options.h - the options that are known of a program, and the parts of its command line that follow from them: joined
 * letters are taken apart (-nO is -n -O), and values are told from operands.
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
#include "permission/shell_parse.h"

enum shell_part_kind {
	PART_OPTION,  /* a known one; its values follow */
	PART_TEXT,    /* a value */
	PART_READ,    /* a value that is a file */
	PART_WRITE,   /* a value that is a file to be written */
	PART_OPERAND, /* also a single dash */
	PART_UNKNOWN, /* an option that is not known, or a value that looks like an option */
};

struct shell_part {
	enum shell_part_kind kind;
	const struct shell_word *word; /* it stands in this one */
	struct str text;               /* of an unknown option: what may be its value */
	const char *marks;             /* of an option and its values; else "" */
};

enum {
	PROGRAM_ONE_DASH = 1 << 0, /* long options begin with one dash, there are no letters, values stand apart: find */
	PROGRAM_NO_DASH = 1 << 1,  /* every word is NAME=VALUE: dd */
	PROGRAM_APART = 1 << 2,    /* the value of a letter is never joined to it: tree */
};

struct shell_program {
	const char *name;
	int operands; /* so many operands do no harm; -1: any number */
	const char *letters;
	const char *words;
	unsigned flags;
	/* Is this part harmless? operands: so many came before it. NULL: those that are known are */
	bool (*check)(const struct shell_part *part, size_t operands);
};

/* The caller sets the first three. */
struct shell_parts {
	const struct shell_program *program;
	const struct shell_word *words; /* behind the name */
	size_t count;
	size_t next;
	struct str letters; /* rest of a word with joined letters */
	struct str joined;  /* value in the word of its option; p is NULL: none */
	const char *values; /* marks of the values that come next */
	const char *marks;
	bool ended; /* by -- */
};

/* False: there are no more. */
bool shell_next_part(struct shell_parts *p, struct shell_part *ret_part);
/* All options are known, none of them writes, and there are not more operands than do no harm. */
bool shell_options_are_harmless(const struct shell_program *program, const struct shell_word *words, size_t count);
bool shell_has_mark(const char *marks, char mark); /* marks: of a part */
