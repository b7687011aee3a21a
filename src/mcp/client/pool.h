/* SPDX-License-Identifier: MIT
 * pool.h - the connections of a process: one for each distinct configuration (mcp/servers/server.h: key) in each environment (mcp_env), shared by
 * reference.
 *
 * An agent joins the servers that it may use and leaves them at its end. After the last lease the connection ends with
 * a delay, so that successive children with the same inline server do not restart it. A server that dies is reported to
 * its leases and restarted within limits. docs/internals/mcp.md. */
#pragma once
#include "mcp/client/client.h"
#include "core/tool/tool.h"

struct mcp_pool;

/* One user of one connection */
struct mcp_lease {
	struct mcp_pool *pool;     /* borrowed */
	struct mcp_conn *conn;     /* borrowed; NULL: disabled, or the pool was drained */
	struct mcp_server *server; /* reference */
	struct mcp_env *env;       /* the same */
	struct mcp_lease *next, **prev;
	struct kick kick; /* calls on_change */
	void (*on_change)(void *data);
	void *data;
	bool disabled;
	struct mcp_toolset **toolsets; /* references: all that were handed out */
	size_t toolset_count;
};

/* Borrows env, whose loop it uses. */
struct mcp_pool *mcp_pool_new(const struct mcp_env *env, const struct mcp_host_events *events);
void mcp_pool_drain(struct mcp_pool *p, void (*done)(void *data), void *data); /* ends all; done comes from the loop */
void mcp_pool_free(struct mcp_pool *p);                                        /* drained, or never used */

void mcp_pool_roots_changed(struct mcp_pool *p, const struct mcp_env *env); /* told to connected servers of env */

/* on_change comes from the loop when state or catalog of the connection may have changed, never from inside a function
 * of the pool; may be NULL. Keeps references on env and server, whose name is used for the tools. */
struct mcp_lease *mcp_pool_join(struct mcp_pool *p, struct mcp_env *env, struct mcp_server *server,
				void (*on_change)(void *data), void *data);
void mcp_lease_leave(struct mcp_lease *l); /* cancels open calls of this lease; on_change is not called */
/* NULL: the lease is disabled, or the pool is drained. */
struct mcp_client *mcp_lease_client(struct mcp_lease *l);
enum mcp_state mcp_lease_state(const struct mcp_lease *l);
/* Still connecting. False once it is connected, has failed, or needs authorisation. */
static inline bool mcp_lease_settling(const struct mcp_lease *l)
{
	return mcp_lease_state(l) == MCP_PENDING;
}

void mcp_lease_reconnect(struct mcp_lease *l);              /* requested by the user */
void mcp_lease_enable(struct mcp_lease *l, bool on);        /* off: releases the connection, keeps the lease */
struct mcp_catalog *mcp_lease_catalog(struct mcp_lease *l); /* returns a reference; NULL: was never connected */
const char *mcp_lease_error(const struct mcp_lease *l);     /* why it is not connected; "" */

/* As mcp_client_call(), but the call ends with the lease. */
struct mcp_request *mcp_lease_call(struct mcp_lease *l, const struct mcp_call *call);

/* The tools of the connection as tools of an agent, named mcp__SERVER__TOOL; appended to set. None before the first
 * connection and after the last attempt failed; during a reconnect they stay, and calls wait for it. They are shared by
 * all leases of that name and live until the lease leaves. After a catalog change a new call returns the new tools; old
 * ones stay valid. A tool call finds its connection through call->env->servers (a selection, below). */
void mcp_lease_tools(struct mcp_lease *l, struct tool_set *set);

/* The servers that one agent uses, in the order of joining, one for each name.
 *
 * All callbacks come from the loop and never after mcp_selection_free(). */
struct mcp_selection {
	struct mcp_pool *pool; /* borrowed */
	struct mcp_env *env;   /* reference */
	struct loop *loop;
	struct mcp_lease **leases;
	size_t count;
	struct kick change_kick;
	void (*changed)(void *data);
	void *changed_data;
	struct kick wait_kick;
	struct timer timer; /* limit of the wait */
	bool timed_out;
	void (*settled)(void *data); /* NULL: no wait */
	void *settled_data;
};

/* Borrows pool, keeps a reference on env; returns owned. */
struct mcp_selection *mcp_selection_new(struct mcp_pool *pool, struct mcp_env *env);
void mcp_selection_free(struct mcp_selection *s); /* leaves all; NULL is allowed */
/* In another environment from now on: open calls are cancelled, and each lease gets a connection there. */
void mcp_selection_move(struct mcp_selection *s, struct mcp_env *env);

/* Once per name: returns the existing lease for a second server of the same name. The set owns the lease. */
struct mcp_lease *mcp_selection_join(struct mcp_selection *s, struct mcp_server *server);
/* Joins the server of that name in the other set. NULL: none. */
struct mcp_lease *mcp_selection_share(struct mcp_selection *s, const struct mcp_selection *other, struct str name);
void mcp_selection_leave(struct mcp_selection *s, struct str name);

/* By its name, else by its name in tool names (characters outside [A-Za-z0-9_-] are '_' there). */
struct mcp_lease *mcp_selection_find(const struct mcp_selection *s, struct str name);
/* Appends the tools of all connected servers, in the order of joining. They live until their lease leaves. */
void mcp_selection_tools(struct mcp_selection *s, struct tool_set *out);

bool mcp_selection_has_client(const struct mcp_selection *s, const struct mcp_client *client);
bool mcp_selection_has_resources(const struct mcp_selection *s); /* a server has resources */

bool mcp_selection_settling(const struct mcp_selection *s); /* a server is still connecting */
/* done: no server is connecting, or the timeout. Once, never from inside; a second wait replaces the first, whose done
 * does not come. */
void mcp_selection_wait(struct mcp_selection *s, uint64_t ms, void (*done)(void *data), void *data);
/* state or catalog of any server changed */
static inline void mcp_selection_on_change(struct mcp_selection *s, void (*changed)(void *data), void *data)
{
	s->changed = changed;
	s->changed_data = data;
}
