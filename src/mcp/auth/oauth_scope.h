/* SPDX-License-Identifier: MIT
 * oauth_scope.h - sets of scopes, written with spaces between them. NULL is the empty set. */
#pragma once
#include "lib/base/arena.h"

bool oauth_scope_has(const char *scopes, struct str one);
bool oauth_scope_covers(const char *scopes, const char *wanted); /* all of wanted are in scopes */
/* Both in the order of a, then b, each once; NULL: empty. */
const char *oauth_scope_union(struct arena *arena, const char *a, const char *b);
const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one); /* NULL: nothing is left */
