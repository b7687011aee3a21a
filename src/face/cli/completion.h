/* SPDX-License-Identifier: MIT
 * completion.h - texts for other programs, made from the tables of flags and commands: completion scripts of
 * shells, and the manual page. */
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
