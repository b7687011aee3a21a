/* SPDX-License-Identifier: MIT
 * servers.h - the MCP servers of agents. Those of the session belong to the main agent and are shared by all; a definition may
 * bring servers of its own, which live as long as an agent that has them (docs/internals/mcp.md). */
#pragma once
#include "agents/agent/tree.h"

struct mcp_selection *agent_own_servers(struct agent *a); /* that it joins itself; made if it has none */
void agent_join_server(struct agent *a,
		       struct mcp_server *server); /* a main agent, which gets the rules that come with it */
/* Of a session: settings have changed (true: other servers are being started); its directories have; it is over. */
bool servers_use_policy(struct agent_tree *t);
void servers_use_directories(struct agent_tree *t);
void servers_close(struct agent_tree *t);
uint64_t servers_wait_ms(const struct services *sv); /* how long an agent waits for its servers */

/* Steps of a child's life. A child that may use a server waits until it is up, or cannot be. */
int agent_join_servers(struct agent *a, struct err *err);
int agent_leave_servers(struct agent *a, struct err *err);
void agent_stop_awaiting_servers(struct agent *a); /* for servers: the step ends now */

/* Of a main agent with a definition: appends tools of its own servers and of those that it names. */
void servers_of_definition(struct agent *a, struct tool_set *out);

/* The built-in tools that come with servers join the pool, unless they are there: those for resources, if a server of the set
 * has some, and the one that finds tools among many. set may be NULL. */
void servers_bring_tools(const struct agent_tree *t, const struct mcp_selection *set, struct tool_set *pool);

/* Names of the session's servers that are connected and offer tools, NULL-terminated, in the arena. */
const char *const *servers_ready(const struct agent_tree *t, struct arena *arena);
/* For lists of agents: no rule denies it, and each server that it needs is ready or still connecting. */
bool servers_admit(const struct agent_tree *t, const struct agent_definition *d);
/* An agent that needs servers (requiredMcpServers) can be used once they are ready. True: they are not; appends why. */
bool servers_lacking(const struct agent_tree *t, const struct agent_definition *d, struct buf *why);
/* What the servers of this agent tell the model about themselves; nothing if they are silent. */
void servers_describe(struct buf *out, const struct agent *a);
