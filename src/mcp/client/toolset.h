/* SPDX-License-Identifier: MIT
 * toolset.h - the tools of one catalog under one server name, as tools of agents. Immutable, shared by reference: a thousand
 * agents with the same server have one. For the files of this room only. */
#pragma once
#include "core/tool/tool.h"
#include "mcp/client/client.h"

struct mcp_toolset;

/* What tool->ctx points to */
struct mcp_tool_ctx {
	const struct mcp_toolset *set;
	const struct mcp_tool *tool;
};

struct mcp_toolset {
	unsigned refs;
	struct mcp_toolset *next;    /* of the connection that made it */
	struct mcp_catalog *catalog; /* reference */
	struct arena arena;          /* holds the rest */
	const char *server;          /* its name as written */
	bool always_load;            /* no tool of it waits (core/tool/deferral.h) */
	struct tool *tools;
	struct mcp_tool_ctx *ctxs;
	size_t count;
};

/* Borrows server until return; returns owned. */
struct mcp_toolset *mcp_toolset_new(struct mcp_catalog *catalog, const struct mcp_server *server);
struct mcp_toolset *mcp_toolset_ref(struct mcp_toolset *b);
void mcp_toolset_unref(struct mcp_toolset *b);
