/* SPDX-License-Identifier: MIT
 * toolbox.h - the tools of one catalog under one server name, as tools of agents. Immutable, shared by reference: a thousand
 * agents with the same server have one. For the files of this room only. */
#pragma once
#include "mcp/client/client.h"
#include "core/tool/tool.h"

struct mcp_toolbox;

/* What tool->ctx points to */
struct mcp_tool_ctx {
	const struct mcp_toolbox *box;
	const struct mcp_tool *tool;
};

struct mcp_toolbox {
	unsigned refs;
	struct mcp_toolbox *next;    /* of the connection that made it */
	struct mcp_catalog *catalog; /* reference */
	struct arena arena;          /* holds the rest */
	const char *server;          /* its name as written */
	bool always_load;            /* no tool of it waits (core/tool/deferral.h) */
	struct tool *tools;
	struct mcp_tool_ctx *ctxs;
	size_t count;
};

/* Borrows server until return; returns owned. */
struct mcp_toolbox *mcp_toolbox_new(struct mcp_catalog *catalog, const struct mcp_server *server);
struct mcp_toolbox *mcp_toolbox_ref(struct mcp_toolbox *b);
void mcp_toolbox_unref(struct mcp_toolbox *b);

/* tool_run.c: start and cancel of every tool in a box */
void mcp_tool_start(struct tool_call *call);
void mcp_tool_cancel(struct tool_call *call);
