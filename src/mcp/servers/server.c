/* SPDX-License-Identifier: MIT
 * server.c - names of servers and of what they are; references. */
#include "mcp/servers/server.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *mcp_kind_word(enum mcp_kind kind)
{
	static const char *const words[] = {
		[MCP_STDIO] = "stdio", [MCP_HTTP] = "http", [MCP_SSE] = "sse", [MCP_SDK] = "sdk"
	};

	return words[kind];
}

const char *mcp_scope_word(enum mcp_scope scope)
{
	static const char *const words[] = {
		[MCP_SCOPE_MANAGED] = "managed", [MCP_SCOPE_FLAG] = "flag", [MCP_SCOPE_LOCAL] = "local",
		[MCP_SCOPE_PROJECT] = "project", [MCP_SCOPE_USER] = "user", [MCP_SCOPE_PLUGIN] = "plugin",
		[MCP_SCOPE_AGENT] = "agent",
	};

	return words[scope];
}

static void add_name_part(struct buf *out, struct str part)
{
	for (size_t i = 0; i < part.n; i++) {
		unsigned char c = (unsigned char)part.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			     c == '-';
		bool inside = (c & 0xc0) == 0x80; /* of a character whose first byte has its '_' already */
		if (!inside)
			buf_addch(out, plain ? (char)c : '_');
	}
}

void mcp_name_add(struct buf *out, struct str server, struct str tool)
{
	buf_addstr(out, "mcp__");
	add_name_part(out, server);
	if (!tool.n)
		return;
	buf_addstr(out, "__");
	add_name_part(out, tool);
}

/* ---- references -------------------------------------------------------------------------------------------------- */

struct mcp_server *mcp_server_ref(struct mcp_server *s)
{
	s->refs++;
	return s;
}

void mcp_server_unref(struct mcp_server *s)
{
	if (!s || --s->refs)
		return;
	struct arena arena = s->arena;
	arena_release(&arena);
	free(s);
}
