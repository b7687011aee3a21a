/* SPDX-License-Identifier: MIT
 * command.h - `cadre COMMAND ...`: subcommands inspect or change configuration without starting a session. The library knows and
 * runs them (cadre_command.h); the program adds those that are about its own flags and the terminal, and prints what they answer. */
#pragma once
#include <cadre_command.h>
#include "face/cli/flag.h"

/* All commands, those of the library and the program's own, in the order of the alphabet; NULL as cadre_command_next(). */
const struct cadre_command *command_next(const struct cadre_command *before);
/* The problems of the user's keys, a line each; false: there is no such file. They are the view's, above this room. */
typedef bool doctor_keys_fn(struct buf *out);
/* argv[1] is its name; returns the exit code. keys: what `cadre doctor` asks about keybindings.json */
int command_run(const struct cadre_command *command, int argc, const char *const *argv, doctor_keys_fn *keys);

int print_text(struct str text); /* to standard output; returns the exit code */

/* What may follow a command: flags of the program, its own options, --json and --help. Calls fn for each; command NULL: for each
 * that may stand without one. */
void command_options(const struct cadre_command *command, void (*fn)(void *data, const struct cadre_option *option),
		     void *data);

/* help.c */
void help_write(struct buf *out); /* the text of --help */
void help_write_command(struct buf *out, const struct cadre_command *command);

/* table.c: rows with several cells are aligned with those above and below. */
void table_write(struct buf *out, const struct cadre_report *report, bool colour);
