/* SPDX-License-Identifier: MIT
 * find.h - files that exist now and that rules or customs set apart, found by walking. Links are not followed: a mount on
 * their target holds whatever name leads there. */
#pragma once
#include "guard/sandbox/profile.h"

enum { FIND_HIDDEN_MAX = 500, FIND_ENTRIES_MAX = 100000, FIND_PROTECTED_DEPTH = 4, FIND_PROTECTED_ENTRIES = 20000 };

/* Below dir: what deny rules of the agent's line hide, or a pattern (absolute, with wildcards) names. -ERR_LIMIT: the tree is
 * too large to be sure. */
int find_denied(struct paths *found, struct arena *a, const struct tool_env *env, const char *dir,
		const char *const *patterns, struct err *err);
/* What deny rules name elsewhere, by a path of their own. */
int find_named_by_rules(struct paths *found, struct arena *a, const struct tool_env *env);
/* Below root, some levels deep: names that make other programs run something, and what Edit rules deny. inside: git must be
 * able to commit, so of a .git only that is taken which makes it run programs. */
int find_protected(struct paths *found, struct arena *a, const struct tool_env *env, const char *root, bool inside,
		   struct err *err);
