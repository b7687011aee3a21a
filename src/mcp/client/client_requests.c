/* SPDX-License-Identifier: MIT
 * client_requests.c - requests (ping, roots, elicitation) and notifications of a server.
 *
 * A server elicits input from the user by a request of its own, or by refusing one of ours until the user has visited
 * some addresses (error -32042): then ours is held, and sent again once all of them were accepted. Without a user
 * interface an elicitation is declined, and so is each one above the limit. On accept, members that were left out get
 * the defaults of the schema (SEP-1034). */
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

/* ---- elicitation ---- */

enum { OPEN_LIMIT = 100 };

struct elicitation {
	struct mcp_elicitation public;
	struct mcp_client *client;
	struct elicitation *next; /* among the open ones of the client */
	struct arena arena;       /* holds the texts */
	struct str request_id;    /* JSON; of the server's request */
	struct mcp_request *held; /* of ours; borrowed; NULL: the server has made one */
};

static void elicitation_detach(struct elicitation *e)
{
	struct elicitation **at = &e->client->elicitations;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	e->client->elicitation_count--;
}

static void elicitation_free(struct elicitation *e)
{
	arena_release(&e->arena);
	free(e);
}

/* id: empty for one of an error. */
static struct elicitation *elicitation_new(struct mcp_client *c, struct str id, const struct json *params)
{
	struct elicitation *e = xcalloc(1, sizeof *e);
	const struct json *schema = json_get(params, "requestedSchema");

	e->client = c;
	e->request_id = arena_str(&e->arena, id);
	e->public.server = c->server->name;
	e->public.mode = json_str_is(json_get(params, "mode"), "url") ? "url" : "form";
	e->public.message = arena_str(&e->arena, json_str(json_get(params, "message"), &e->arena));
	e->public.schema = schema ? arena_str(&e->arena, json_raw(schema)) : STR("{}");
	e->public.url = json_cstr(json_get(params, "url"), &e->arena);
	e->public.id = json_cstr(json_get(params, "elicitationId"), &e->arena);
	e->next = c->elicitations;
	c->elicitations = e;
	c->elicitation_count++;
	return e;
}

static void elicitation_start(struct mcp_client *c, struct str id, const struct json *params)
{
	const struct mcp_client_events *events = &c->options.events;
	bool is_url = json_str_is(json_get(params, "mode"), "url");

	if (is_url && !json_is(json_get(params, "url"), JSON_STRING)) {
		mcp_rpc_error(&c->rpc, id, -32602, "an elicitation by address needs a url");
		return;
	}
	if (!events->on_elicitation || c->elicitation_count >= OPEN_LIMIT) {
		mcp_rpc_result(&c->rpc, id, STR("{\"action\":\"decline\"}"));
		return;
	}
	struct elicitation *e = elicitation_new(c, id, params);
	events->on_elicitation(c, events->data, &e->public);
}

static void put_defaults(struct json_out *w, const struct json *schema, const struct json *content, struct arena *arena)
{
	const struct json *properties = json_get(schema, "properties");

	for (struct json_member m = json_members(properties); m.key; m = json_member_next(properties, m)) {
		struct str name = json_str(m.key, arena);
		const struct json *value = json_get(m.value, "default");
		if (!value || json_get_str(content, name))
			continue;
		json_key_str(w, name);
		json_put_raw(w, json_raw(value));
	}
}

static void put_accepted(struct json_out *w, struct str schema_text, struct str content_text)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader schema_reader = { 0 };
	AUTO_JSON struct json_reader content_reader = { 0 };
	const struct json *schema = NULL;
	const struct json *content = NULL;

	(void)json_parse(&schema_reader, schema_text.p, schema_text.n, &schema, NULL);
	if (content_text.n)
		(void)json_parse(&content_reader, content_text.p, content_text.n, &content, NULL);
	json_key(w, "content");
	json_open(w, '{');
	for (struct json_member m = json_members(content); m.key; m = json_member_next(content, m)) {
		json_key_str(w, json_str(m.key, &a));
		json_put_raw(w, json_raw(m.value));
	}
	put_defaults(w, schema, content, &a);
	json_close(w);
}

static void answer_server(struct elicitation *e, const char *action, struct str content)
{
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);

	json_open(&w, '{');
	json_kcstr(&w, "action", action);
	if (!strcmp(action, "accept") && !strcmp(e->public.mode, "form"))
		put_accepted(&w, e->public.schema, content);
	json_close(&w);
	mcp_rpc_result(&e->client->rpc, e->request_id, buf_str(&result));
}

static void refuse_held(struct mcp_client *c, struct mcp_request *r)
{
	struct err why = { 0 };

	(void)err_set(&why, ERR_DENIED,
		      "the server %.60s wants the user to visit an address first, and that was not accepted",
		      c->server->name);
	mcp_request_refuse(r, &why);
}

void mcp_elicitation_answer(struct mcp_elicitation *public, const char *action, struct str content)
{
	struct elicitation *e = CONTAINER_OF(public, struct elicitation, public);

	elicitation_detach(e);
	if (!e->held)
		answer_server(e, action, content);
	else if (!strcmp(action, "accept"))
		mcp_request_resume(e->held);
	else
		refuse_held(e->client, e->held);
	elicitation_free(e);
}

/* ---- a request of ours that is barred ------------------------------------------------------------------------------ */

static bool is_address(const struct json *params)
{
	return json_str_is(json_get(params, "mode"), "url") && json_is(json_get(params, "url"), JSON_STRING);
}

static bool elicitation_hold_request(struct mcp_client *c, struct mcp_request *r, const struct json *error)
{
	const struct json *list = json_get(json_get(error, "data"), "elicitations");
	size_t count = 0;

	for (const struct json *v = json_first(list); v; v = json_next(list, v), count++)
		if (!is_address(v))
			return false;
	if (!count || !c->options.events.on_elicitation || c->elicitation_count + count > OPEN_LIMIT)
		return false;
	mcp_request_hold(r); /* an answer may come at once: nothing is sent before all were asked */
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const struct mcp_client_events *events = &c->options.events;
		struct elicitation *e = elicitation_new(c, STR(""), v);
		e->held = r;
		mcp_request_hold(r);
		events->on_elicitation(c, events->data, &e->public);
	}
	mcp_request_resume(r);
	return true;
}

/* ---- nobody wants the answer any more -------------------------------------------------------------------------------- */

/* Of one that is not in the list any more. */
static void elicitation_drop(struct elicitation *e)
{
	const struct mcp_client_events *events = &e->client->options.events;

	if (events->on_elicitation_gone)
		events->on_elicitation_gone(e->client, events->data, &e->public);
	elicitation_free(e);
}

static void elicitation_drop_held(struct mcp_client *c, const struct mcp_request *r)
{
	for (struct elicitation *e = c->elicitations, *next; e; e = next) {
		next = e->next;
		if (e->held != r)
			continue;
		elicitation_detach(e);
		elicitation_drop(e);
	}
}

void mcp_elicitations_drop(struct mcp_client *c)
{
	while (c->elicitations) {
		struct elicitation *e = c->elicitations;
		c->elicitations = e->next;
		c->elicitation_count--;
		elicitation_drop(e);
	}
}

/* ---- requests and notifications ---- */

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
	{ "elicitation/create", elicitation_start },
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
	const struct json *id = json_get(params, "requestId");
	if (!id)
		return;
	for (struct elicitation *e = c->elicitations; e; e = e->next)
		if (str_eq(e->request_id, json_raw(id))) {
			elicitation_detach(e);
			elicitation_drop(e);
			return;
		}
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
	return elicitation_hold_request(data, r, error);
}

static void on_held_end(void *data, const struct mcp_request *r)
{
	elicitation_drop_held(data, r);
}

const struct mcp_rpc_handlers mcp_client_rpc_handlers = {
	.on_request = on_request,
	.on_notice = on_notice,
	.on_barred = on_barred,
	.on_held_end = on_held_end,
	.on_fault = on_fault,
};
