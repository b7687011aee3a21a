/* SPDX-License-Identifier: MIT
 * result.h - converts a server's answer to the result of a tool call. */
#pragma once
#include "core/tool/tool.h"

/* Ends the call with the result of "tools/call": structuredContent if present, else the blocks of `content` (images as
 * image blocks, the rest as text). Text above the limit (MAX_MCP_OUTPUT_TOKENS, 25,000 tokens of 4 bytes; most_chars of
 * the tool in its place if not 0, at most 500,000) goes to a file, and the result has its path. */
void mcp_result_finish(struct tool_call *call, const struct json *result, size_t most_chars);
/* The same for the result of "resources/read". */
void mcp_result_finish_resource(struct tool_call *call, const struct json *result);
/* Why this base64 image cannot be sent to a model; NULL: it can. */
const char *mcp_image_refusal(struct str mime, struct str data);
