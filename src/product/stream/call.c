/* SPDX-License-Identifier: MIT
 * call.c - requests that go through to an MCP server, without the model: a call of a tool, a resource to be shown. */
#include "mcp/client/pool.h"
#include "mcp/client/set.h"
#include "product/stream/wire_int.h"

enum { LEAST_MS = 1000, MOST_MS = 600 * 1000 };

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct wire_later *later = data;

	if (err)
		wire_later_fail(later, err->text);
	else
		wire_later_reply(later, json_raw(result));
}

static void pass_on(const struct wire_request *r, struct mcp_link *link, const char *method, struct str params,
		    uint64_t timeout_ms)
{
	(void)mcp_link_call(link, &(struct mcp_call){ .method = method,
						      .params = params,
						      .timeout_ms = timeout_ms,
						      .answer = on_answer,
						      .data = wire_later(r) });
}

static struct mcp_link *find_server(const struct wire_request *r, struct str name)
{
	const struct mcp_set *set = r->wire->session->tree.main.servers;

	return set && name.n ? mcp_set_find(set, name) : NULL;
}

/* ---- a resource -------------------------------------------------------------------------------------------------- */

/* Only what is made to be shown: everything else the model reads, by the rules. What lives in the client it can ask itself. */
void wire_mcp_resource(const struct wire_request *r)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct str uri = json_str(json_get(r->body, "uri"), r->arena);
	struct mcp_link *link = find_server(r, name);
	AUTO_BUF struct buf params = { 0 };
	struct json_out out = json_out(&params);

	if (!str_starts(uri, STR("ui://"))) {
		wire_reply_error(r->wire, r->id, NULL, "Only ui:// resources can be read, not " STR_FMT, STR_ARG(uri));
		return;
	}
	if (!link || mcp_link_server(link)->kind == MCP_SDK) {
		wire_reply_error(r->wire, r->id, NULL, "Server not found: " STR_FMT, STR_ARG(name));
		return;
	}
	json_open(&out, '{');
	json_kstr(&out, "uri", uri);
	json_close(&out);
	pass_on(r, link, "resources/read", buf_str(&params), 0);
}

/* ---- a tool ------------------------------------------------------------------------------------------------------ */

/* The server's own name of a tool that the model knows as mcp__SERVER__TOOL; *ret_link is that server. NULL: no such tool. */
static const char *find_tool(const struct wire_request *r, struct str wish, struct mcp_link **ret_link)
{
	const struct mcp_set *set = r->wire->session->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };

	for (size_t i = 0; set && i < mcp_set_count(set); i++) {
		struct mcp_link *link = mcp_set_at(set, i);
		struct mcp_catalog *c = mcp_link_catalog(link);
		const char *found = NULL;
		for (size_t k = 0; c && !found && k < c->tool_count; k++) {
			buf_clear(&name);
			mcp_name_add(&name, str_from(mcp_link_server(link)->name), str_from(c->tools[k].name));
			if (str_eq(buf_str(&name), wish))
				found = arena_strdup(r->arena, c->tools[k].name);
		}
		mcp_catalog_unref(c);
		*ret_link = link;
		if (found)
			return found;
	}
	return NULL;
}

/* What the rules forbid nobody calls. A client that says it passes on somebody else's call needs to be allowed by them, as the
 * model does, and nobody is asked. */
static bool is_allowed(const struct wire_request *r, struct str tool_name, struct str arguments)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct tool *tool = tool_set_find(&a->tools, tool_name);
	struct permission_verdict verdict = { 0 };

	if (!tool)
		return false;
	struct tool_call *call = tool_call_new(&a->env, NULL, tool, r->id, tool_name, arguments);
	permission_explain(&a->permission, call, PERMISSION_HINT_NONE, &verdict);
	bool allowed = verdict.decision == PERMISSION_ALLOW;
	bool forbidden = verdict.decision == PERMISSION_DENY && !verdict.unanswerable;
	permission_verdict_release(&verdict);
	tool_call_free(call);
	return json_bool(json_get(r->body, "check_permissions")) ? allowed : !forbidden;
}

static uint64_t time_limit(const struct wire_request *r)
{
	int64_t ms;

	if (!json_i64(json_get(r->body, "timeout_ms"), &ms))
		return 0;
	return (uint64_t)MAX((int64_t)LEAST_MS, MIN(ms, (int64_t)MOST_MS));
}

void wire_mcp_call(const struct wire_request *r)
{
	struct str wish = json_str(json_get(r->body, "tool"), r->arena);
	const struct json *given = json_get(r->body, "arguments");
	struct str arguments = json_is(given, JSON_OBJECT) ? json_raw(given) : STR("{}");
	AUTO_BUF struct buf params = { 0 };
	struct json_out out = json_out(&params);
	struct mcp_link *link = NULL;
	const char *tool = find_tool(r, wish, &link);

	if (json_get(r->body, "input_files") || json_get(r->body, "output_files")) {
		wire_reply_error(r->wire, r->id, NULL, "files cannot be staged for a call here");
		return;
	}
	if (!tool) {
		wire_reply_error(r->wire, r->id, NULL, "No such tool: " STR_FMT, STR_ARG(wish));
		return;
	}
	if (!is_allowed(r, wish, arguments)) {
		wire_reply_error(r->wire, r->id, NULL, "The tool did not run: the rules do not allow " STR_FMT,
				 STR_ARG(wish));
		return;
	}
	json_open(&out, '{');
	json_kcstr(&out, "name", tool);
	json_kraw(&out, "arguments", arguments);
	json_close(&out);
	pass_on(r, link, "tools/call", buf_str(&params), time_limit(r));
}
