/* SPDX-License-Identifier: MIT
 * tool_mcp_resources.c - the tools for resources of MCP servers: list them from the catalogs of the connections, read one, list
 * those below a URI. */
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "mcp/client/toolset.h"
#include "mcp/client/pool.h"
#include "core/tool/tool_list.h"

/* NULL: the call has been answered with an error that lists the names. */
static struct mcp_lease *find_server(struct tool_call *call, struct str name)
{
	struct mcp_selection *servers = call->env->servers;
	struct mcp_lease *lease = servers ? mcp_selection_find(servers, name) : NULL;
	AUTO_BUF struct buf names = { 0 };

	if (lease)
		return lease;
	for (size_t i = 0; servers && i < servers->count; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", servers->leases[i]->server->name);
	tool_call_reject(call, "No such MCP server: \"" STR_FMT "\". Servers: %s.", STR_ARG(name),
			 names.n ? names.p : "none");
	return NULL;
}

/* A resource or a template as the server listed it, and the name of the server. */
static void put_listed(struct json_out *w, struct str json, const struct mcp_lease *lease)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;

	(void)json_parse(&reader, json.p, json.n, &root, NULL);
	json_open(w, '{');
	json_put_members(w, root, (const char *const[]){ "server", NULL }, NULL);
	json_putf(w, "server:'%s'}", lease->server->name);
}

static void list_start(struct tool_call *call)
{
	const struct json *server = json_get(call->input, "server");
	struct mcp_selection *servers = call->env->servers;
	struct json_out w = json_out(&call->result);
	struct mcp_lease *only = NULL;
	size_t count = 0;

	if (server) {
		only = find_server(call, json_str(server, &call->arena));
		if (!only)
			return;
	}
	json_open(&w, '[');
	for (size_t i = 0; servers && i < servers->count; i++) {
		struct mcp_lease *lease = servers->leases[i];
		if ((only && only != lease) || permission_forbids_server(call->env->permission, lease->server->name))
			continue;
		struct mcp_catalog *catalog = mcp_lease_catalog(lease);
		for (size_t k = 0; catalog && k < catalog->resource_count; k++, count++)
			put_listed(&w, str_from(catalog->resources[k].json), lease);
		mcp_catalog_unref(catalog);
	}
	json_close(&w);
	if (!count) {
		tool_call_finish(call, STR("No resources found. Servers without resources may still have tools."));
		return;
	}
	tool_call_end(call);
}

const struct tool tool_list_mcp_resources = { TOOL_LIST_MCP_RESOURCES_FACTS, .start = list_start };

static void on_resource(void *data, const struct json *result, const struct err *err)
{
	struct tool_call *call = data;

	call->state = NULL;
	if (err)
		tool_call_fail(call, "The resource cannot be read: %s", err->text);
	else
		mcp_result_finish_resource(call, result);
}

static void resource_start(struct tool_call *call)
{
	struct mcp_lease *lease = find_server(call, json_str(json_get(call->input, "server"), &call->arena));
	AUTO_BUF struct buf params = { 0 };

	if (!lease)
		return;
	json_addf(&params, "{uri:%.*s}", JSON_ARG(json_get(call->input, "uri")));
	call->state = mcp_lease_call(lease, &(struct mcp_call){ .method = "resources/read",
								.params = buf_str(&params),
								.tool_use_id = call->id,
								.answer = on_resource,
								.data = call });
}

static void resource_cancel(struct tool_call *call)
{
	if (call->state)
		mcp_request_cancel(call->state, "the call was cancelled");
}

const struct tool tool_read_mcp_resource = {
	TOOL_READ_MCP_RESOURCE_FACTS,
	.start = resource_start,
	.cancel = resource_cancel,
};

enum { MOST_PAGES = 100 };

/* In the call's arena */
struct listing {
	struct tool_call *call;
	struct mcp_lease *lease; /* of the agent's set; a call does not outlive it */
	struct mcp_request *request;
	struct str below;  /* what a URI must begin with */
	struct json_out w; /* into the result */
	unsigned pages;
	size_t count;
};

static void listing_add(struct listing *l, struct str uri, struct str json)
{
	if (!str_starts(uri, l->below) || uri.n == l->below.n)
		return;
	put_listed(&l->w, json, l->lease);
	l->count++;
}

static void request_templates(struct listing *l, const struct json *cursor);

static void on_page(void *data, const struct json *result, const struct err *err)
{
	struct listing *l = data;
	struct tool_call *call = l->call;
	const struct json *next = json_get(result, "nextCursor"), *list = json_get(result, "resourceTemplates");

	l->request = NULL;
	if (call->cancelled) {
		tool_call_fail(call, "The call was cancelled.");
		return;
	}
	for (const struct json *v = json_first(list); !err && v; v = json_next(list, v))
		listing_add(l, json_str(json_get(v, "uriTemplate"), &call->arena), json_raw(v));
	if (!err && json_is(next, JSON_STRING) && ++l->pages < MOST_PAGES) {
		request_templates(l, next);
		return;
	}
	json_close(&l->w);
	if (!err && json_is(next, JSON_STRING))
		buf_addf(&call->result, "\nThe server has more than these %d pages; name a longer uri to see fewer.",
			 MOST_PAGES);
	if (!l->count) {
		buf_clear(&call->result);
		buf_addf(&call->result, "The server %s lists nothing below " STR_FMT ".", l->lease->server->name,
			 STR_ARG(json_str(json_get(call->input, "uri"), &call->arena)));
	}
	tool_call_end(call);
}

/* cursor: NULL for the first page. */
static void request_templates(struct listing *l, const struct json *cursor)
{
	AUTO_BUF struct buf params = { 0 };

	json_addf(&params, "{cursor?:%.*s}", STR_ARG(json_raw(cursor)));
	l->request = mcp_lease_call(l->lease, &(struct mcp_call){ .method = "resources/templates/list",
								  .params = buf_str(&params),
								  .tool_use_id = l->call->id,
								  .answer = on_page,
								  .data = l });
}

static void dir_start(struct tool_call *call)
{
	struct mcp_lease *lease = find_server(call, json_str(json_get(call->input, "server"), &call->arena));

	if (!lease)
		return;
	struct listing *l = arena_calloc(&call->arena, sizeof *l);
	*l = (struct listing){ .call = call, .lease = lease, .w = json_out(&call->result) };
	/* "file:///docs" and "file:///docs/" are the same, and "file:///docs2" is not below them. */
	struct str uri = json_str(json_get(call->input, "uri"), &call->arena);
	uri.n -= str_ends(uri, STR("/"));
	l->below = uri.n ? str_from(arena_printf(&call->arena, STR_FMT "/", STR_ARG(uri))) : STR("");
	call->state = l;
	json_open(&l->w, '[');
	struct mcp_catalog *catalog = mcp_lease_catalog(lease);
	for (size_t i = 0; catalog && i < catalog->resource_count; i++)
		listing_add(l, str_from(catalog->resources[i].uri), str_from(catalog->resources[i].json));
	mcp_catalog_unref(catalog);
	request_templates(l, NULL);
}

static void dir_cancel(struct tool_call *call)
{
	struct listing *l = call->state;

	if (l->request)
		mcp_request_cancel(l->request, "the call was cancelled");
}

const struct tool tool_read_mcp_resource_dir = {
	TOOL_READ_MCP_RESOURCE_DIR_FACTS,
	.start = dir_start,
	.cancel = dir_cancel,
};
