/* SPDX-License-Identifier: MIT
 * mcp_server.c - the server that a call names. */
#include "tools/mcp_server.h"

struct mcp_link *mcp_server_of_call(struct tool_call *call, struct str name)
{
	struct mcp_set *servers = call->env->servers;
	struct mcp_link *link = servers ? mcp_set_find(servers, name) : NULL;
	AUTO_BUF struct buf names = { 0 };

	if (link)
		return link;
	for (size_t i = 0; servers && i < mcp_set_count(servers); i++)
		buf_addf(&names, "%s%s", i ? ", " : "", mcp_link_server(mcp_set_at(servers, i))->name);
	tool_call_reject(call, "There is no MCP server \"" STR_FMT "\" here. Servers: %s.", STR_ARG(name),
			 names.n ? names.p : "none");
	return NULL;
}
