/* SPDX-License-Identifier: MIT
 * operand.h - the files that a command names: its operands, as far as the program is known to take files there, and its
 * redirections. */
#pragma once
#include "guard/permission/place.h"
#include "guard/shell/shell_parse.h"

enum operand_use {
	OPERAND_READ,
	OPERAND_WRITE,    /* made, changed, moved or removed */
	OPERAND_REDIRECT, /* written by the shell itself */
	OPERAND_ENTER,    /* cd */
};

struct operand {
	enum operand_use use;
	struct str text; /* as it was written */
	bool known;      /* place is what it means; false: an expansion, a glob or ~ is in it */
	bool globs;      /* it is not known for a glob alone; place is the directory before the first wildcard */
	struct place place;
	const char *from; /* the directory it was resolved from */
};

struct operands {
	struct operand *list; /* in the arena */
	size_t count, cap;
	const struct operands *earlier; /* what was found there need not be looked for again; NULL: none */
};

/* c: as it stands, or as one of the forms behind its wrappers. Adds each file once for every directory in cwds
 * (NULL-terminated) that the command may run in. */
void operands_add(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds);
/* Files that a glob means now. At most 1,000 are added to *o. */
void operands_expand(struct operands *o, struct arena *a, const struct operand *glob);

/* mkdir, touch, rm, rmdir, mv, cp with known options: what acceptEdits lets pass. Says nothing about the operands. */
bool command_only_edits(const struct shell_command *c);
bool command_removes(const struct shell_command *c); /* rm, rmdir */
bool command_is_cd(const struct shell_command *c);
