/* SPDX-License-Identifier: MIT
 * toolset.h - the tools of one catalog under one server name. Immutable, shared by reference by all agents with that
 * server. Internal to this room. */
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
	struct mcp_toolset *next;    /* of its connection */
	struct mcp_catalog *catalog; /* reference */
	struct arena arena;          /* holds the rest */
	const char *server;          /* its name as written */
	bool always_load;            /* its tools are never deferred (core/tool/deferral.h) */
	struct tool *tools;
	struct mcp_tool_ctx *ctxs;
	size_t count;
};

/* Borrows server until return; returns owned. */
struct mcp_toolset *mcp_toolset_new(struct mcp_catalog *catalog, const struct mcp_server *server);
void mcp_toolset_unref(struct mcp_toolset *b);
