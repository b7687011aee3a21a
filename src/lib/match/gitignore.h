/* SPDX-License-Identifier: MIT
 * gitignore.h - a list of ignore rules: the lines of a .gitignore or similar file (.ignore, .rgignore,
 * .git/info/exclude, core.excludesFile). The last rule that matches a path decides. Patterns as in ripgrep: trailing
 * blanks are dropped, braces are alternatives, invalid globs are skipped.
 *
 * A compiled list is constant and may be used by several threads. */
#pragma once
#include "lib/match/glob.h"

enum ignore_verdict {
	IGNORE_NONE, /* no rule matches */
	IGNORE_DROP, /* ignored */
	IGNORE_KEEP, /* a rule with ! */
};

struct gitignore_rule;
struct gitignore {
	struct gitignore_rule *rules;
	size_t count, cap;
	size_t keeps; /* how many begin with ! */
};

void gitignore_add(struct gitignore *g, struct str line); /* one line; comments and empty lines add nothing */
void gitignore_add_text(struct gitignore *g, struct str text);
/* path is relative to the directory of the list. Parents are not checked: a walk does not enter ignored directories. */
enum ignore_verdict gitignore_match(const struct gitignore *g, struct str path, bool is_dir);
bool gitignore_covers(const struct gitignore *g, struct str path); /* a rule drops the file, or a directory above it */
void gitignore_release(struct gitignore *g);
