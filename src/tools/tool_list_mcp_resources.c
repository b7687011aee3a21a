/* SPDX-License-Identifier: MIT
 * tool_list_mcp_resources.c - ListMcpResourcesTool: what the servers of the agent have listed. Nothing is asked for: the lists
 * are kept up to date by the connections. */
#include "json/json_write.h"
#include "tools/mcp_server.h"
#include "tools/tools_int.h"

static void list_start(struct tool_call *call);

const struct tool tool_list_mcp_resources = {
	.name = "ListMcpResourcesTool",
	.definition = tool_list_mcp_resources_json,
	.subject = "server",
	.flags = TOOL_READ_ONLY | TOOL_NEEDS_SERVERS,
	.start = list_start,
};

/* As the server listed it, and from which one it is. */
static void put_resource(struct json_out *w, const char *json, const char *server, struct arena *a)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;

	(void)json_parse(&reader, json, strlen(json), &root, NULL);
	json_open(w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		if (json_str_is(m.key, "server"))
			continue;
		json_key_str(w, json_str(m.key, a));
		json_put_raw(w, json_raw(m.value));
	}
	json_kcstr(w, "server", server);
	json_close(w);
}

static size_t put_server(struct json_out *w, struct mcp_link *link, struct arena *a)
{
	struct mcp_catalog *catalog = mcp_link_catalog(link);
	size_t count = catalog ? catalog->resource_count : 0;

	for (size_t i = 0; i < count; i++)
		put_resource(w, catalog->resources[i].json, mcp_link_server(link)->name, a);
	mcp_catalog_unref(catalog);
	return count;
}

static void list_start(struct tool_call *call)
{
	const struct json *server = json_get(call->input, "server");
	struct mcp_set *servers = call->env->servers;
	struct json_out w = json_out(&call->result);
	struct mcp_link *only = NULL;
	size_t count = 0;

	if (server) {
		only = mcp_server_of_call(call, json_str(server, &call->arena));
		if (!only)
			return;
	}
	json_open(&w, '[');
	for (size_t i = 0; servers && i < mcp_set_count(servers); i++)
		if (!only || only == mcp_set_at(servers, i))
			count += put_server(&w, mcp_set_at(servers, i), &call->arena);
	json_close(&w);
	if (!count) {
		tool_call_finish(call, STR("There are no resources. Servers without resources may still have tools."));
		return;
	}
	tool_call_end(call, false);
}
