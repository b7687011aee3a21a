/* SPDX-License-Identifier: MIT
 * record.h - the limits of an agent's ancestors as JSON, for an agent that outlives them (docs/internals/subagent.md, "Limits are
 * inherited for life").
 *
 *     [{"mode":"plan","deny":["Bash(touch:*)"]}, {"only":["Bash(echo:*)"],"writeRoot":"/r/.claude/worktrees/agent-a1"}]
 *
 * One object for each ancestor below the main agent, outermost first: what its definition and its call took away. Rules of the
 * settings and of the session are not in it: those of the resumed session hold. A record can only take away: allow rules are
 * not in it, and a mode in it never widens. */
#pragma once
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"

/* The line that ends with p, as an array. */
void permission_record_write(struct json_out *w, const struct permission *p);

/* Ancestors that are gone: between a running agent and one that is resumed. Zeroed: none. */
struct permission_line {
	struct permission *list; /* owned; each points to the one before it, the first to the agent that is there */
	size_t count;
};

struct permission_restore {
	const struct permission *parent; /* the agent that is there. Borrowed: outlives the line */
	const struct json *record;
	size_t least;  /* so many ancestors were there */
	bool own_root; /* the agent has a worktree of its own */
};

/* What the record has and the parent's line has not. -ERR_DENIED: it cannot be read or applied; then there is no line. */
int permission_line_restore(struct permission_line *ret_line, const struct permission_restore *spec, struct err *err);
/* Do all limits of p and of its ancestors hold in this line, too, and is its mode not wider? but_own: rules of p itself do. */
bool permission_line_covers(const struct permission *line, const struct permission *p, bool but_own);
static inline void permission_line_release(struct permission_line *l)
{
	for (size_t i = 0; i < l->count; i++)
		permission_release(&l->list[i]);
	free(l->list);
	*l = (struct permission_line){ 0 };
}
