/* SPDX-License-Identifier: MIT
 * completion.h - texts for other programs, made from the tables of flags and commands: what shells complete, and the manual page. */
#pragma once
#include "face/cli/command.h"

extern const struct cadre_command completion_command, manual_command;
/* Runs one of the two. */
int completion_run(const struct cadre_command *command, const struct args *args, struct buf *out, struct err *err);

/* What may follow the words behind `cadre`, of which the last one is being typed; count > 0. */
void completion_reply(const char *const *words, size_t count, struct buf *out);
void manual_write(struct buf *out); /* cadre.1, for man(1) */
