/* SPDX-License-Identifier: MIT
 * mcp_server.c - the server that a call names, and what it has listed. */
#include "tools/mcp_server.h"

struct mcp_lease *mcp_server_of_call(struct tool_call *call, struct str name)
{
	struct mcp_selection *servers = call->env->servers;
	struct mcp_lease *link = servers ? mcp_selection_find(servers, name) : NULL;
	AUTO_BUF struct buf names = { 0 };

	if (link)
		return link;
	for (size_t i = 0; servers && i < mcp_selection_count(servers); i++)
		buf_addf(&names, "%s%s", i ? ", " : "", mcp_lease_server(mcp_selection_at(servers, i))->name);
	tool_call_reject(call, "There is no MCP server \"" STR_FMT "\" here. Servers: %s.", STR_ARG(name),
			 names.n ? names.p : "none");
	return NULL;
}

void mcp_put_listed(struct json_out *w, struct str json, const struct mcp_lease *link, struct arena *a)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;

	(void)json_parse(&reader, json.p, json.n, &root, NULL);
	json_open(w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		if (json_str_is(m.key, "server"))
			continue;
		json_key_str(w, json_str(m.key, a));
		json_put_raw(w, json_raw(m.value));
	}
	json_kcstr(w, "server", mcp_lease_server(link)->name);
	json_close(w);
}
