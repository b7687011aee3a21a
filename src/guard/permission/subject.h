/* SPDX-License-Identifier: MIT
 * subject.h - what a rule about a tool looks at. A const table; a tool that is not in it is known by its name alone.
 *
 * How to add one: a row in subject.c, in the order of the alphabet (a test proves it). */
#pragma once
#include "lib/base/str.h"

enum subject_kind {
	SUBJECT_NAME,  /* nothing but the tool's name and parameters */
	SUBJECT_SHELL, /* a command */
	SUBJECT_READ,  /* a path that is read */
	SUBJECT_EDIT,  /* a path that is written */
	SUBJECT_HOST,  /* the host of an address */
	SUBJECT_AGENT,
	SUBJECT_SKILL,
};

enum subject_flags {
	SUBJECT_LEADS =
		1 << 0, /* Read and Edit: their rules, with and without paths, hold for all tools of their kind */
	SUBJECT_SHOWS =
		1 << 1, /* an edit that needs what is in the file: a rule that forbids to read it forbids this too */
	SUBJECT_ASKS = 1 << 2,  /* is itself a question to the user */
	SUBJECT_LISTS = 1 << 3, /* shows names of files, not what is in them */
};

struct subject {
	const char *tool;
	enum subject_kind kind;
	const char *primary;    /* input member that holds it. NULL: none */
	const char *parameters; /* other members, with blanks around each; NULL: not known, any name may be one */
	unsigned flags;
};

extern const struct subject subject_table[];
extern const size_t subject_count;

const struct subject *subject_find(struct str tool); /* case ignored; old names are not known here; NULL: none */
struct str subject_current_name(struct str tool);    /* today's name of a tool that was renamed, else the name itself */
