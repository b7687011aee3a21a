/* SPDX-License-Identifier: MIT
 * mention.h - files that a command may mean, for rules that forbid: each of its words may be one, in a form that the program alone
 * knows (curl -d @F, docker --env-file=F, python3 -c "open('F')"), and a directory stands for all that it holds. */
#pragma once
#include "guard/permission/resolved_path.h"
#include "guard/shell/shell_command.h"

struct mention {
	struct resolved_path file;
	bool writes; /* the command may write it */
};

struct mentions {
	struct mention *list; /* in the arena */
	size_t count, cap;
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
