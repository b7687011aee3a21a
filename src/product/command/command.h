/* SPDX-License-Identifier: MIT
 * command.h - the subcommands behind cadre_command(). docs/internals/command.md has the life of a call, command_list.h how to add
 * a command. */
#pragma once
#include "lib/args/args.h"
#include "product/command/report.h"
#include "lib/base/str.h"

struct cadre_call {
	struct services *services;
	const struct cadre_command *command;
	const struct cadre_command_word *word;
	struct args args;            /* options and words, read */
	const char *const *operands; /* after the word: as many as word->operands says; NULL after the last */
	size_t count;
	const struct cadre_command_io *io; /* never NULL */
	struct cadre_report *report;       /* to be filled */
	bool told;                         /* io->on_piece got the answer */
	struct err *err;                   /* the reason, if the function returns below 0 */
};

typedef int command_fn(struct cadre_call *call); /* what a word of a command runs */

/* "expected: cadre mcp get NAME"; returns -ERR_USAGE. */
int command_fail_usage(struct cadre_call *call, const char *usage);

#define COMMAND(name) extern const struct cadre_command command_##name;
#include "product/command/command_list.h"
#undef COMMAND

#define OPTION_CHOICES(...)              \
	.choices = (const char *const[]) \
	{                                \
		__VA_ARGS__, NULL        \
	}
#define OPTION_SCOPE                                                                                               \
	{                                                                                                          \
		"scope", NULL, 's', CADRE_OPTION_REQUIRED, 0, "scope", OPTION_CHOICES("local", "project", "user"), \
			.help = "For whom it is: local, project or user."                                          \
	}
#define NAMES(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/* Rows for one line of a transcript; none if it has nothing to show. *ret_end: the agent has ended; untouched by a line that is not JSON,
 * except that a later line of a conversation takes an end back. */
void logs_line(struct cadre_report *piece, struct str line, bool *ret_end);

/* A server of the command line, as `cadre mcp add` and `test` take it; lists end with NULL, env and headers may be NULL */
struct wanted_server {
	const char *transport;
	const char *const *words; /* program and arguments, or an address */
	const char *const *env, *const *headers;
};
int mcp_write_entry(struct buf *out, const struct wanted_server *e, struct err *err); /* its entry in a file */
/* The words of `cadre mcp` that start something. */
int mcp_test(struct cadre_call *call); /* and login */
int mcp_serve(struct cadre_call *call);
