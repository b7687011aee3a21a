/* SPDX-License-Identifier: MIT
 * server_call.c - a call of an MCP tool that no model makes. */
#include "product/session/server_call.h"
#include "product/session/servers.h"
#include "lib/json/json_write.h"

struct server_call {
	struct mcp_lease_call *call;
	server_call_fn *done;
	void *data;
};

static void add_text(struct buf *out, const struct json *result)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *content = json_get(result, "content");

	for (const struct json *v = json_first(content); v; v = json_next(content, v)) {
		if (!json_str_is(json_get(v, "type"), "text"))
			continue;
		struct str text = json_str(json_get(v, "text"), &a);
		buf_addf(out, "%s" STR_FMT, out->n ? "\n" : "", STR_ARG(text));
	}
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct server_call *c = data;
	AUTO_BUF struct buf text = { 0 };

	if (err)
		buf_addstr(&text, err->text);
	else
		add_text(&text, result);
	c->done(c->data, err || json_bool(json_get(result, "isError")), buf_str(&text));
	free(c);
}

struct server_call *server_call_start(struct cadre_session *s, struct str server, struct str tool, struct str arguments,
				      server_call_fn *done, void *data, struct err *err)
{
	const struct mcp_selection *set = s->tree.main.servers;
	struct mcp_lease *link = set ? mcp_selection_find(set, server) : NULL;
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!link) {
		(void)err_set(err, ERR_NOT_FOUND, "there is no MCP server '" STR_FMT "'", STR_ARG(server));
		return NULL;
	}
	struct server_call *c = xcalloc(1, sizeof *c);
	*c = (struct server_call){ .done = done, .data = data };
	json_open(&w, '{');
	json_kstr(&w, "name", tool);
	json_kraw(&w, "arguments", arguments);
	json_close(&w);
	c->call = mcp_lease_call(
		link, &(struct mcp_call){
			      .method = "tools/call", .params = buf_str(&params), .answer = on_answer, .data = c });
	return c;
}

void server_call_cancel(struct server_call *c)
{
	mcp_lease_call_cancel(c->call, "it is not wanted any more");
}
