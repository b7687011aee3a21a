/* SPDX-License-Identifier: MIT
 * server_call.c - a call of an MCP tool that no model makes. */
#include "product/session/server_pool.h"
#include "product/session/session_int.h"
#include "lib/json/json_write.h"

struct server_call {
	struct cadre_session *session;
	struct server_call *next, **prev; /* in session->server_calls */
	struct tool tool;                 /* under the name that models, rules and hooks know it by */
	struct tool_call *call;           /* owned */
	struct mcp_lease_call *open;      /* NULL: not asked, or answered */
	struct arena arena;
	const char *server, *tool_name;
	uint64_t timeout_ms;
	struct buf json;
	server_call_fn *done;
	void *data;
};

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct server_call *c = data;
	const struct json *content = json_get(result, "content");
	struct buf *text = &c->call->result;

	c->open = NULL;
	if (err) {
		tool_call_fail(c->call, "%s", err->text);
		return;
	}
	struct str raw = json_raw(result);
	buf_add(&c->json, raw.p, raw.n);
	for (const struct json *v = json_first(content); v; v = json_next(content, v)) {
		if (!json_str_is(json_get(v, "type"), "text"))
			continue;
		struct str more = json_str(json_get(v, "text"), &c->arena);
		buf_addf(text, "%s" STR_FMT, text->n ? "\n" : "", STR_ARG(more));
	}
	tool_call_end(c->call, json_bool(json_get(result, "isError")));
}

static void server_tool_start(struct tool_call *call)
{
	struct server_call *c = call->owner;
	const struct mcp_selection *set = c->session->tree.main.servers;
	struct mcp_lease *link = set ? mcp_selection_find(set, str_from(c->server)) : NULL;
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!link) {
		tool_call_fail(call, "the MCP server '%s' is gone", c->server);
		return;
	}
	json_open(&w, '{');
	json_kcstr(&w, "name", c->tool_name);
	json_kraw(&w, "arguments", json_raw(call->input));
	json_close(&w);
	c->open = mcp_lease_call(link, &(struct mcp_call){ .method = "tools/call",
							   .params = buf_str(&params),
							   .timeout_ms = c->timeout_ms,
							   .answer = on_answer,
							   .data = c });
}

static void server_tool_cancel(struct tool_call *call)
{
	const struct server_call *c = call->owner;

	if (c->open)
		mcp_lease_call_cancel(c->open, "it is not wanted any more");
}

static void on_done(struct tool_call *call)
{
	struct server_call *c = call->owner;
	struct cadre_session *s = c->session;

	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->done(c->data, &(struct server_reply){ .failed = call->is_error,
						 .denied = call->denied,
						 .text = buf_str(&call->result),
						 .json = buf_str(&c->json) });
	tool_call_free(call);
	buf_release(&c->json);
	arena_release(&c->arena);
	free(c);
	session_kick(s);
}

struct server_call *server_call_start(struct cadre_session *s, const struct server_call_spec *spec,
				      server_call_fn *done, void *data, struct err *err)
{
	const struct mcp_selection *set = s->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };
	char id[UUID_LEN + 1];

	if (!set || !mcp_selection_find(set, spec->server)) {
		(void)err_set(err, ERR_NOT_FOUND, "no such MCP server: " STR_FMT, STR_ARG(spec->server));
		return NULL;
	}
	struct server_call *c = xcalloc(1, sizeof *c);
	mcp_name_add(&name, spec->server, spec->tool);
	*c = (struct server_call){ .session = s,
				   .next = s->server_calls,
				   .prev = &s->server_calls,
				   .timeout_ms = spec->timeout_ms,
				   .done = done,
				   .data = data };
	c->server = arena_str(&c->arena, spec->server).p;
	c->tool_name = arena_str(&c->arena, spec->tool).p;
	/* The server checks the arguments, and who asks wants all of the answer. */
	c->tool = (struct tool){ .name = arena_str(&c->arena, buf_str(&name)).p,
				 .definition = "{}",
				 .flags = TOOL_OWN_LIMIT,
				 .start = server_tool_start,
				 .cancel = server_tool_cancel };
	if (c->next)
		c->next->prev = &c->next;
	s->server_calls = c;
	id_uuid(id);
	c->call = tool_call_new(&s->tree.main.env, &s->tree.main.gate, &c->tool, str_from(id), buf_str(&name),
				spec->arguments);
	c->call->policy = spec->policy;
	c->call->owner = c;
	c->call->done = on_done;
	tool_call_start(c->call);
	return c;
}

void server_call_cancel(struct server_call *c)
{
	tool_call_cancel(c->call);
}

void session_cancel_server_calls(struct cadre_session *s)
{
	for (struct server_call *c = s->server_calls; c; c = c->next)
		if (!c->call->policy.by_hook)
			tool_call_cancel(c->call);
}
