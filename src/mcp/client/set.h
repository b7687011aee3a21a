/* SPDX-License-Identifier: MIT
 * set.h - the servers that one agent has joined, in the order of joining, one for each name.
 *
 * All callbacks come from the loop and never after mcp_set_free(). */
#pragma once
#include "mcp/client/pool.h"

struct mcp_set;

struct mcp_set *mcp_set_new(struct mcp_pool *pool); /* borrows pool; returns owned */
void mcp_set_free(struct mcp_set *s);               /* leaves all; NULL is allowed */

/* Once for each name: a second server of the same name is not joined, the link that is there is returned. The link belongs
 * to the set. */
struct mcp_link *mcp_set_join(struct mcp_set *s, struct mcp_server *server);
/* Joins what the other set has by that name. NULL: it has none. */
struct mcp_link *mcp_set_share(struct mcp_set *s, const struct mcp_set *other, struct str name);
void mcp_set_leave(struct mcp_set *s, struct str name);

/* By the name as it is written, else by the one that tools have (characters outside [A-Za-z0-9_-] are '_' there). */
struct mcp_link *mcp_set_find(const struct mcp_set *s, struct str name);
size_t mcp_set_count(const struct mcp_set *s);
struct mcp_link *mcp_set_at(const struct mcp_set *s, size_t i);

/* The tools of all that are connected, in the order of joining; appended to out. They live until their link leaves. */
void mcp_set_tools(struct mcp_set *s, struct tool_set *out);

bool mcp_set_has_resources(const struct mcp_set *s); /* at least one server offers them */

bool mcp_set_settling(const struct mcp_set *s); /* at least one is on its way to being connected */
/* done: none is settling any more, or the time is over. Once, never from inside; a second wait takes the place of the first,
 * whose done does not come. */
void mcp_set_wait(struct mcp_set *s, uint64_t ms, void (*done)(void *data), void *data);
void mcp_set_on_change(struct mcp_set *s, void (*changed)(void *data),
		       void *data); /* a state or a list, of any of them */
