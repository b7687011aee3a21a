/* SPDX-License-Identifier: MIT
 * judge_shell_int.h - one shell command while it is judged. */
#pragma once
#include "guard/permission/judge_int.h"
#include "guard/permission/operand.h"
#include "guard/shell/shell_command.h"

enum { CWDS_MAX = 8 };

struct shell_case {
	struct str text;
	struct shell_script script;
	struct shell_command *forms; /* of all its commands, for rules that forbid or ask */
	size_t form_count;
	bool too_many;              /* it could start more than can be listed */
	struct command_text *texts; /* of each form, twice: as written and with single blanks */
	size_t text_count;
	struct operands files; /* of all forms */
	size_t file_count;     /* of those that are not expansions of globs */
	bool expanded;
	const char *cwds[CWDS_MAX + 1]; /* where its commands may run, NULL-terminated */
	size_t cwd_count;
	bool lost;                 /* nobody knows where: cd to an expansion */
	struct command_text asked; /* the one that rules are looked for */
	bool exact_only;
};

/* What a rule compares with a command. */
struct command_text shell_rule_text(struct judge *j, const struct shell_command *c);
bool shell_passes(struct judge *j, struct buf *why); /* judge_shell_pass.c */
