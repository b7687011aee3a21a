/* SPDX-License-Identifier: MIT
 * selection.h - the servers that one agent uses, in the order of joining, one for each name.
 *
 * All callbacks come from the loop and never after mcp_selection_free(). */
#pragma once
#include "mcp/client/pool.h"

struct mcp_selection;

struct mcp_selection *mcp_selection_new(struct mcp_pool *pool); /* borrows pool; returns owned */
void mcp_selection_free(struct mcp_selection *s);               /* leaves all; NULL is allowed */

/* Once for each name: a second server of the same name is not joined, the lease that is there is returned. The lease belongs
 * to the set. */
struct mcp_lease *mcp_selection_join(struct mcp_selection *s, struct mcp_server *server);
/* Joins what the other set has by that name. NULL: it has none. */
struct mcp_lease *mcp_selection_share(struct mcp_selection *s, const struct mcp_selection *other, struct str name);
void mcp_selection_leave(struct mcp_selection *s, struct str name);

/* By the name as it is written, else by the one that tools have (characters outside [A-Za-z0-9_-] are '_' there). */
struct mcp_lease *mcp_selection_find(const struct mcp_selection *s, struct str name);
size_t mcp_selection_count(const struct mcp_selection *s);
struct mcp_lease *mcp_selection_at(const struct mcp_selection *s, size_t i);

/* The tools of all that are connected, in the order of joining; appended to out. They live until their lease leaves. */
void mcp_selection_tools(struct mcp_selection *s, struct tool_set *out);

bool mcp_selection_has_resources(const struct mcp_selection *s); /* at least one server offers them */

bool mcp_selection_settling(const struct mcp_selection *s); /* at least one is on its way to being connected */
/* done: none is settling any more, or the time is over. Once, never from inside; a second wait takes the place of the first,
 * whose done does not come. */
void mcp_selection_wait(struct mcp_selection *s, uint64_t ms, void (*done)(void *data), void *data);
void mcp_selection_on_change(struct mcp_selection *s, void (*changed)(void *data),
			     void *data); /* a state or a list, of any of them */
