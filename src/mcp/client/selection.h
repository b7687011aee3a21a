/* SPDX-License-Identifier: MIT
 * selection.h - the servers that one agent uses, in the order of joining, one for each name.
 *
 * All callbacks come from the loop and never after mcp_selection_free(). */
#pragma once
#include "mcp/client/pool.h"

struct mcp_selection;

struct mcp_selection *mcp_selection_new(struct mcp_pool *pool); /* borrows pool; returns owned */
void mcp_selection_free(struct mcp_selection *s);               /* leaves all; NULL is allowed */

/* Once per name: returns the existing lease for a second server of the same name. The set owns the lease. */
struct mcp_lease *mcp_selection_join(struct mcp_selection *s, struct mcp_server *server);
/* Joins the server of that name in the other set. NULL: none. */
struct mcp_lease *mcp_selection_share(struct mcp_selection *s, const struct mcp_selection *other, struct str name);
void mcp_selection_leave(struct mcp_selection *s, struct str name);

/* By its name, else by its name in tool names (characters outside [A-Za-z0-9_-] are '_' there). */
struct mcp_lease *mcp_selection_find(const struct mcp_selection *s, struct str name);
size_t mcp_selection_count(const struct mcp_selection *s);
struct mcp_lease *mcp_selection_at(const struct mcp_selection *s, size_t i);

/* Appends the tools of all connected servers, in the order of joining. They live until their lease leaves. */
void mcp_selection_tools(struct mcp_selection *s, struct tool_set *out);

bool mcp_selection_has_resources(const struct mcp_selection *s); /* a server has resources */

bool mcp_selection_settling(const struct mcp_selection *s); /* a server is still connecting */
/* done: no server is connecting, or the timeout. Once, never from inside; a second wait replaces the first, whose done
 * does not come. */
void mcp_selection_wait(struct mcp_selection *s, uint64_t ms, void (*done)(void *data), void *data);
void mcp_selection_on_change(struct mcp_selection *s, void (*changed)(void *data),
			     void *data); /* state or catalog of any server changed */
