/* SPDX-License-Identifier: MIT
 * suggest.h - the rule that would let such a use pass without a question next time.
 *
 * It allows what the person sees and nothing beside it: a command word for word, a path, a host, a tool by its name. A
 * prefix is never suggested: who allowed `git push origin` did not see `git push origin --force`. Wider rules are for
 * people to write. */
#pragma once
#include "guard/permission/permission.h"

enum { SUGGESTION_MAX_BYTES = 500 }; /* a longer one would not be read by who says yes */

/* In the arena; NULL: no rule of the session would let this agent do this very thing. */
const char *permission_suggest(struct arena *a, const struct permission *p, struct tool_use use);
