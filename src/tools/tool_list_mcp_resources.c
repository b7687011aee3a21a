/* SPDX-License-Identifier: MIT
 * tool_list_mcp_resources.c - ListMcpResourcesTool: what the servers of the agent have listed. Nothing is asked for: the lists
 * are kept up to date by the connections. */
#include "lib/json/json_write.h"
#include "tools/mcp_server.h"
#include "tools/tool_list.h"

static void list_start(struct tool_call *call);

const struct tool tool_list_mcp_resources = {
	TOOL_LIST_MCP_RESOURCES_FACTS,
	.start = list_start,
};

static size_t put_server(struct json_out *w, struct mcp_lease *link, struct arena *a)
{
	struct mcp_catalog *catalog = mcp_lease_catalog(link);
	size_t count = catalog ? catalog->resource_count : 0;

	for (size_t i = 0; i < count; i++)
		mcp_put_listed(w, str_from(catalog->resources[i].json), link, a);
	mcp_catalog_unref(catalog);
	return count;
}

static void list_start(struct tool_call *call)
{
	const struct json *server = json_get(call->input, "server");
	struct mcp_selection *servers = call->env->servers;
	struct json_out w = json_out(&call->result);
	struct mcp_lease *only = NULL;
	size_t count = 0;

	if (server) {
		only = mcp_server_of_call(call, json_str(server, &call->arena));
		if (!only)
			return;
	}
	json_open(&w, '[');
	for (size_t i = 0; servers && i < mcp_selection_count(servers); i++)
		if (!only || only == mcp_selection_at(servers, i))
			count += put_server(&w, mcp_selection_at(servers, i), &call->arena);
	json_close(&w);
	if (!count) {
		tool_call_finish(call, STR("There are no resources. Servers without resources may still have tools."));
		return;
	}
	tool_call_end(call, false);
}
