/* SPDX-License-Identifier: MIT
 * resolved_path.h - a path that a call names, what is special about it, and the files that a command names. */
#pragma once
#include "guard/shell/shell_parse.h"
#include "lib/base/arena.h"

/* Both absolute, in the arena. What a link points to counts as much as the link. */
struct resolved_path {
	const char *path;   /* as named, without . and .. */
	const char *target; /* links resolved, as far as it exists; NULL: it cannot be (a loop of links) */
};

struct resolved_path resolved_path_find(struct arena *a, const char *cwd, struct str path);
bool resolved_path_is_inside(struct arena *a, const struct resolved_path *p,
			     const char *dir); /* both of it; dir may be a link itself */

/* Files that make other programs run something, or say what may run: .git, .claude, .bashrc ... path is absolute. */
bool path_is_protected(const char *path);
/* Paths whose removal is never meant: the root and what is in it, the home directory, the directory where the agent
 * works and those above it. */
bool path_is_critical(const char *path, const char *cwd);

/* The files that a command names: its operands, as far as the program is known to take files there, and its
 * redirections. */

enum operand_use {
	OPERAND_READ,
	OPERAND_WRITE,    /* made, changed, moved or removed */
	OPERAND_REDIRECT, /* written by the shell itself */
	OPERAND_ENTER,    /* cd */
};

struct operand {
	enum operand_use use;
	struct str text; /* as it was written */
	bool known;      /* file is what it means; false: an expansion, a glob or ~ is in it */
	bool globs;      /* it is not known for a glob alone; file is the directory before the first wildcard */
	struct resolved_path file;
	const char *from; /* the directory it was resolved from */
};

struct operands {
	struct operand *list; /* in the arena */
	size_t count;
	const struct operands *earlier; /* what was found there need not be looked for again; NULL: none */
};

/* c: as it stands, or as one of the forms behind its wrappers. Adds each file once for every directory in cwds
 * (NULL-terminated) that the command may run in. */
void operands_add(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds);
struct str operand_glob_dir(struct str text); /* the directory before the first wildcard */
/* Words with wildcards that are files for the shell alone: echo *.c */
void operands_add_globs(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds);
/* Files that a glob means now. At most 1,000 are added to *o; false: there are more. */
bool operands_expand(struct operands *o, struct arena *a, const struct operand *glob);

/* mkdir, touch, rm, rmdir, mv, cp with known options: what acceptEdits lets pass. Says nothing about the operands. */
bool command_only_edits(const struct shell_command *c);
