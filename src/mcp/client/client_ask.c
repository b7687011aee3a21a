/* SPDX-License-Identifier: MIT
 * client_ask.c - what a server says by itself: its requests (ping, roots, elicitation) and its notices. */
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

enum { METHOD_NOT_FOUND = -32601 };

static void answer_ping(struct mcp_client *c, struct str id, const struct json *params)
{
	(void)params;
	mcp_rpc_result(&c->rpc, id, STR("{}"));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void answer_roots(struct mcp_client *c, struct str id, const struct json *params)
{
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);
	const struct mcp_client_events *events = &c->options.events;
	const char *const *roots = events->roots ? events->roots(events->data) : NULL;

	(void)params;
	json_open(&w, '{');
	json_key(&w, "roots");
	json_open(&w, '[');
	for (; roots && *roots; roots++) {
		json_open(&w, '{');
		json_kcstr(&w, "uri", *roots);
		json_kcstr(&w, "name", last_part(*roots));
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
	mcp_rpc_result(&c->rpc, id, buf_str(&result));
}

static const struct {
	const char *method;
	void (*answer)(struct mcp_client *c, struct str id, const struct json *params);
} requests[] = {
	{ "ping", answer_ping },
	{ "roots/list", answer_roots },
	{ "elicitation/create", mcp_elicit_start },
};

static void on_request(void *data, struct str id, struct str method, const struct json *params)
{
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		if (str_is(method, requests[i].method)) {
			requests[i].answer(data, id, params);
			return;
		}
	struct mcp_client *c = data;
	mcp_rpc_error(&c->rpc, id, METHOD_NOT_FOUND, "this client does not have that method");
}

static void note_tools(struct mcp_client *c, const struct json *params)
{
	(void)params;
	mcp_list_changed(&c->lists[MCP_LIST_TOOLS]);
}

static void note_prompts(struct mcp_client *c, const struct json *params)
{
	(void)params;
	mcp_list_changed(&c->lists[MCP_LIST_PROMPTS]);
}

static void note_resources(struct mcp_client *c, const struct json *params)
{
	(void)params;
	mcp_list_changed(&c->lists[MCP_LIST_RESOURCES]);
}

static void note_progress(struct mcp_client *c, const struct json *params)
{
	mcp_rpc_progress(&c->rpc, params);
}

static void note_cancelled(struct mcp_client *c, const struct json *params)
{
	mcp_elicit_cancelled(c, json_get(params, "requestId"));
}

/* The levels of the protocol are those of syslog; one that is not among them must not reach a log as if it were. */
static const char *known_level(const struct json *level)
{
	static const char *const levels[] = { "debug", "info",     "notice", "warning",
					      "error", "critical", "alert",  "emergency" };

	for (size_t i = 0; i < COUNT_OF(levels); i++)
		if (json_str_is(level, levels[i]))
			return levels[i];
	return "info";
}

static void note_message(struct mcp_client *c, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *data = json_get(params, "data");
	struct str text = json_is(data, JSON_STRING) ? json_str(data, &a) : data ? json_raw(data) : STR("");

	mcp_client_log(c, known_level(json_get(params, "level")), STR_FMT, STR_ARG(text));
}

static const struct {
	const char *method;
	void (*take)(struct mcp_client *c, const struct json *params);
} notices[] = {
	{ "notifications/tools/list_changed", note_tools },
	{ "notifications/prompts/list_changed", note_prompts },
	{ "notifications/resources/list_changed", note_resources },
	{ "notifications/progress", note_progress },
	{ "notifications/cancelled", note_cancelled },
	{ "notifications/message", note_message },
};

static void on_notice(void *data, struct str method, const struct json *params)
{
	for (size_t i = 0; i < COUNT_OF(notices); i++)
		if (str_is(method, notices[i].method))
			notices[i].take(data, params);
}

static void on_fault(void *data, const char *text)
{
	struct mcp_client *c = data;

	mcp_client_log(c, "warning", "it sent %s", text);
}

static bool on_barred(void *data, struct mcp_request *r, const struct json *error)
{
	return mcp_elicit_barred(data, r, error);
}

static void on_held_end(void *data, const struct mcp_request *r)
{
	mcp_elicit_drop_held(data, r);
}

const struct mcp_rpc_handlers mcp_ask_handlers = {
	.on_request = on_request,
	.on_notice = on_notice,
	.on_barred = on_barred,
	.on_held_end = on_held_end,
	.on_fault = on_fault,
};
