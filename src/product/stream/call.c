/* SPDX-License-Identifier: MIT
 * call.c - requests to an MCP server without the model: a call of a tool, or a resource to be shown. */
#include "mcp/client/pool.h"
#include "mcp/client/selection.h"
#include "product/session/server_call.h"
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

/* ---- a resource -------------------------------------------------------------------------------------------------- */

/* Only ui:// resources: all others are read by the model, under its rules. A client can ask its own servers itself. */
int wire_mcp_resource(struct wire_request *r, struct err *err)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct str uri = json_str(json_get(r->body, "uri"), r->arena);
	const struct mcp_selection *set = r->wire->session->tree.main.servers;
	struct mcp_lease *link = set && name.n ? mcp_selection_find(set, name) : NULL;
	AUTO_BUF struct buf params = { 0 };
	struct json_out out = json_out(&params);

	if (!str_starts(uri, STR("ui://")))
		return err_set(err, ERR_DENIED, "Only ui:// resources can be read, not " STR_FMT, STR_ARG(uri));
	if (!link || mcp_lease_server(link)->kind == MCP_SDK)
		return err_set(err, ERR_NOT_FOUND, "Server not found: " STR_FMT, STR_ARG(name));
	json_open(&out, '{');
	json_kstr(&out, "uri", uri);
	json_close(&out);
	(void)mcp_lease_call(link, &(struct mcp_call){ .method = "resources/read",
						       .params = buf_str(&params),
						       .answer = on_answer,
						       .data = wire_later(r) });
	return WIRE_ANSWERED;
}

/* ---- a tool ------------------------------------------------------------------------------------------------------ */

/* The server's own name of a tool that the model knows as mcp__SERVER__TOOL; *ret_link is that server. NULL: no such tool. */
static const char *find_tool(const struct wire_request *r, struct str wish, struct mcp_lease **ret_link)
{
	const struct mcp_selection *set = r->wire->session->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };

	for (size_t i = 0; set && i < mcp_selection_count(set); i++) {
		struct mcp_lease *link = mcp_selection_at(set, i);
		struct mcp_catalog *c = mcp_lease_catalog(link);
		const char *found = NULL;
		for (size_t k = 0; c && !found && k < c->tool_count; k++) {
			buf_clear(&name);
			mcp_name_add(&name, str_from(mcp_lease_server(link)->name), str_from(c->tools[k].name));
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

/* A call that did not run, or has no result, is an error of the request; a result with isError is a result. */
static void on_tool_answer(void *data, const struct server_reply *reply)
{
	struct wire_later *later = data;
	AUTO_BUF struct buf why = { 0 };

	if (reply->json.n) {
		wire_later_reply(later, reply->json);
		return;
	}
	buf_addf(&why, "%s" STR_FMT, reply->denied ? "The tool did not run: " : "", STR_ARG(reply->text));
	wire_later_fail(later, why.p);
}

int wire_mcp_call(struct wire_request *r, struct err *err)
{
	struct str wish = json_str(json_get(r->body, "tool"), r->arena);
	const struct json *given = json_get(r->body, "arguments");
	struct cadre_session *s = r->wire->session;
	struct mcp_lease *link = NULL;
	const char *tool = find_tool(r, wish, &link);
	int64_t limit_ms;

	if (json_get(r->body, "input_files") || json_get(r->body, "output_files"))
		return err_set(err, ERR_USAGE, "files cannot be staged for a call here");
	if (!tool)
		return err_set(err, ERR_NOT_FOUND, "No such tool: " STR_FMT, STR_ARG(wish));
	if (!tool_set_find(&s->tree.main.tools, wish))
		return err_set(err, ERR_DENIED, "The tool did not run: the main agent does not have " STR_FMT,
			       STR_ARG(wish));
	bool has_limit = json_i64(json_get(r->body, "timeout_ms"), &limit_ms);
	/* A forwarded call needs an allow rule, as the model's calls do; there is no question. */
	bool checks = json_bool(json_get(r->body, "check_permissions"));
	struct server_call_spec spec = { .server = str_from(mcp_lease_server(link)->name),
					 .tool = str_from(tool),
					 .arguments = json_is(given, JSON_OBJECT) ? json_raw(given) : STR("{}"),
					 .policy = { .apart = true, .chosen = !checks, .no_question = checks } };
	if (has_limit)
		spec.timeout_ms = (uint64_t)MAX((int64_t)LEAST_MS, MIN(limit_ms, (int64_t)MOST_MS));
	(void)server_call_start(s, &spec, on_tool_answer, wire_later(r), NULL); /* the server exists: it cannot fail */
	return WIRE_ANSWERED;
}
