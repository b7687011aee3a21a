/* SPDX-License-Identifier: MIT
 * completion.h - texts for other programs, made from the tables of flags and commands: what shells complete, and the manual page.
 *
 * To add a shell: 1. completion_NAME.c with a function that writes its script; 2. a row in completion.c. */
#pragma once
#include "face/cli/command.h"

extern const struct cadre_command completion_command, manual_command;
/* Runs one of the two. */
int completion_run(const struct cadre_command *command, const struct args *args, struct buf *out, struct err *err);

struct completion_shell {
	const char *name;
	void (*write)(struct buf *out);
};
extern const struct completion_shell completion_shells[]; /* ends with a row without a name */

void completion_bash(struct buf *out);
void completion_fish(struct buf *out);
void completion_zsh(struct buf *out);
void manual_write(struct buf *out); /* cadre.1, for man(1) */

/* Calls fn once for each option of the program and of commands, by name. */
void completion_each_option(struct buf *out, void (*fn)(void *out, const struct cadre_option *option));
bool completion_takes_path(const struct cadre_option *option);
bool completion_takes_session(const struct cadre_option *option);
void completion_add_choices(struct buf *out, const char *const *choices);        /* with spaces between */
bool completion_has_words(const struct cadre_command *command);                  /* one of several words follows it */
bool completion_has_sessions(const struct cadre_command *command);               /* a session may be an operand */
void completion_add_words(struct buf *out, const struct cadre_command *command); /* with spaces between */
/* What a session stands behind, the same way: words of the command, or its name. */
void completion_add_holders(struct buf *out, const struct cadre_command *command, const char *between);
/* The first sentence of its help, without the full stop */
struct str completion_gist(const struct cadre_option *option);
/* A backslash before each of special */
void completion_add_escaped(struct buf *out, struct str text, const char *special);
