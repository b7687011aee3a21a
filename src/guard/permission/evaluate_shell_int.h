/* SPDX-License-Identifier: MIT
 * evaluate_shell_int.h - a shell command while it is evaluated. */
#pragma once
#include "guard/permission/evaluation_int.h"
#include "guard/shell/shell_command.h"
#include "lib/base/arena.h"
#include "guard/permission/resolved_path.h"

/* mention.c: files that a command may mean, for rules that forbid: each of its words may be one, in a form that the program alone
 * knows (curl -d @F, docker --env-file=F, python3 -c "open('F')"), and a directory stands for all that it holds. */

struct mention {
	struct resolved_path file;
	bool writes; /* the command may write it */
};

struct mentions {
	struct mention *list; /* in the arena */
	size_t count;
	bool too_many; /* there are more */
};

/* All words of a form (shell_list_for_deny), its assignments and here-documents. cwds as for operands_add(). */
void mentions_add(struct mentions *m, struct arena *a, const struct shell_command *c, const char *const *cwds);
/* A text of which it is not known which words are files; blanks stand between them. */
void mentions_add_text(struct mentions *m, struct arena *a, struct str text, const char *const *cwds);

enum tree_answer { TREE_HAS_NONE, TREE_HAS_ONE, TREE_TOO_LARGE };

/* Is there something below dir about which fn says yes? Links are judged and not followed. hidden: names that begin with a dot count. A
 * path that is not a directory has nothing below it. */
typedef bool tree_fn(void *data, const char *path);
enum tree_answer tree_search(struct arena *a, const char *dir, bool hidden, tree_fn *fn, void *data);

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
