/* SPDX-License-Identifier: MIT
 * tool_read_mcp_resource_dir.c - ReadMcpResourceDirTool: what a server has below an address. The protocol has no directories:
 * the resources are those of the server's list, which the connection keeps, and the templates are asked for. A server that
 * does not know of templates has none. */
#include "lib/json/json_write.h"
#include "tools/mcp_server.h"
#include "tools/tool_list.h"

enum { MOST_PAGES = 100 };

static void dir_start(struct tool_call *call);
static void dir_cancel(struct tool_call *call);

const struct tool tool_read_mcp_resource_dir = {
	TOOL_READ_MCP_RESOURCE_DIR_FACTS,
	.start = dir_start,
	.cancel = dir_cancel,
};

/* In the call's arena */
struct listing {
	struct tool_call *call;
	struct mcp_lease *link; /* of the agent's set; a call does not outlive it */
	struct mcp_lease_call *request;
	struct str below;  /* what an address must begin with */
	struct json_out w; /* into the result */
	unsigned pages;
	size_t count;
};

/* "file:///docs" and "file:///docs/" are the same, and "file:///docs2" is not below them. */
static struct str beginning_of(struct tool_call *call, struct str uri)
{
	if (str_ends(uri, STR("/")))
		uri.n--;
	return uri.n ? str_from(arena_printf(&call->arena, STR_FMT "/", STR_ARG(uri))) : STR("");
}

static void add(struct listing *l, struct str uri, struct str json)
{
	if (!str_starts(uri, l->below) || uri.n == l->below.n)
		return;
	mcp_put_listed(&l->w, json, l->link, &l->call->arena);
	l->count++;
}

static void add_resources(struct listing *l)
{
	struct mcp_catalog *catalog = mcp_lease_catalog(l->link);

	for (size_t i = 0; catalog && i < catalog->resource_count; i++)
		add(l, str_from(catalog->resources[i].uri), str_from(catalog->resources[i].json));
	mcp_catalog_unref(catalog);
}

static void add_templates(struct listing *l, const struct json *list)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		add(l, json_str(json_get(v, "uriTemplate"), &l->call->arena), json_raw(v));
}

static void finish(struct listing *l)
{
	json_close(&l->w);
	if (l->count) {
		tool_call_end(l->call, false);
		return;
	}
	buf_clear(&l->call->result);
	buf_addf(&l->call->result, "The server %s lists nothing below " STR_FMT ".", mcp_lease_server(l->link)->name,
		 STR_ARG(json_str(json_get(l->call->input, "uri"), &l->call->arena)));
	tool_call_end(l->call, false);
}

static void ask(struct listing *l, const struct json *cursor);

static void on_page(void *data, const struct json *result, const struct err *err)
{
	struct listing *l = data;
	const struct json *next = json_get(result, "nextCursor");

	l->request = NULL;
	if (l->call->cancelled) {
		tool_call_fail(l->call, "The call was cancelled.");
		return;
	}
	if (!err)
		add_templates(l, json_get(result, "resourceTemplates"));
	if (!err && json_is(next, JSON_STRING) && ++l->pages < MOST_PAGES)
		ask(l, next);
	else
		finish(l);
}

/* cursor: NULL for the first page. */
static void ask(struct listing *l, const struct json *cursor)
{
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	json_open(&w, '{');
	if (cursor)
		json_kraw(&w, "cursor", json_raw(cursor));
	json_close(&w);
	l->request = mcp_lease_call(l->link, &(struct mcp_call){ .method = "resources/templates/list",
								 .params = buf_str(&params),
								 .tool_use_id = l->call->id,
								 .answer = on_page,
								 .data = l });
}

static void dir_start(struct tool_call *call)
{
	struct mcp_lease *link = mcp_server_of_call(call, json_str(json_get(call->input, "server"), &call->arena));

	if (!link)
		return;
	struct listing *l = arena_calloc(&call->arena, sizeof *l);
	*l = (struct listing){ .call = call, .link = link, .w = json_out(&call->result) };
	l->below = beginning_of(call, json_str(json_get(call->input, "uri"), &call->arena));
	call->state = l;
	json_open(&l->w, '[');
	add_resources(l);
	ask(l, NULL);
}

static void dir_cancel(struct tool_call *call)
{
	struct listing *l = call->state;

	if (l->request)
		mcp_lease_call_cancel(l->request, "the call was cancelled");
}
