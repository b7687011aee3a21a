/* SPDX-License-Identifier: MIT
 * evaluate_shell_int.h - a shell command while it is evaluated. */
#pragma once
#include "guard/permission/evaluation_int.h"
#include "guard/permission/mention.h"
#include "guard/shell/shell_command.h"

enum { SHELL_CWDS_MAX = 8 };

/* A command while it is checked */
struct shell_case {
	struct str text;
	struct shell_script script;
	struct shell_command *forms; /* of all its commands, for rules that forbid or ask */
	size_t form_count;
	bool too_many;     /* it could start more than can be listed */
	const char *hides; /* why it may start others than those; NULL: it does not */
	struct command_text
		*doubts; /* what programs that are not known would start if they ran their words, twice as texts */
	size_t doubt_count;
	struct command_text *texts; /* of each form, twice: as written and with single blanks */
	size_t text_count;
	struct operands files; /* of all forms */
	size_t file_count;     /* of those that are not expansions of globs */
	bool expanded;
	struct mentions mentions;             /* other words that may be files, for rules that forbid */
	bool mentioned;                       /* they have been looked for */
	const char *cwds[SHELL_CWDS_MAX + 1]; /* where its commands may run, NULL-terminated */
	size_t cwd_count;
	bool lost;                          /* the directory is not known: cd to an expansion */
	const struct shell_command *finder; /* while the tree is searched for what this find names */
	struct command_text asked;          /* the one that rules are looked for */
	bool exact_only;
};

/* evaluate_shell.c */
struct command_text shell_rule_text(struct evaluation *ev, const struct shell_command *c);
const struct rule *shell_any_path_rule(const struct rule_set *set, enum rule_list list, bool edits);

/* evaluate_shell_pass.c: runs without a question, decided */
bool shell_passes(struct evaluation *ev);
