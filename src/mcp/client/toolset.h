/* SPDX-License-Identifier: MIT
 * toolset.h - the tools of one catalog under one server name. Immutable, shared by reference by all agents with that
 * server; and results of other requests. */
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
	bool comms;                  /* a coordinator has them itself */
	struct tool *tools;
	struct mcp_tool_ctx *ctxs;
	size_t count;
};

/* Borrows server until return; returns owned. */
struct mcp_toolset *mcp_toolset_new(struct mcp_catalog *catalog, const struct mcp_server *server);
void mcp_toolset_unref(struct mcp_toolset *b);

/* Ends the call with the result of "resources/read": images as image blocks, the rest as text. Text above the limit
 * (MAX_MCP_OUTPUT_TOKENS, 25,000 tokens of 4 bytes; for a tool its most_chars if not 0, at most 500,000) goes to a file,
 * and the result has its path. */
void mcp_result_finish_resource(struct tool_call *call, const struct json *result);
/* Why this base64 image cannot be sent to a model; NULL: it can. */
const char *mcp_image_refusal(struct str mime, struct str data);
