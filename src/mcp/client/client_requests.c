/* SPDX-License-Identifier: MIT
 * client_requests.c - requests (ping, roots, elicitation) and notifications of a server.
 *
 * A server elicits input from the user by a request of its own, or by refusing one of ours until the user has visited
 * some addresses (error -32042): then ours is held, and sent again once all of them were accepted. Without a user
 * interface an elicitation is declined, and so is each one above the limit. On accept, members that were left out get
 * the defaults of the schema (SEP-1034). */
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"
#include "lib/base/list.h"

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
	list_drop(&e->client->elicitations, e);
	e->client->elicitation_count--;
}

/* Its answer is no longer needed. */
static void elicitation_drop(struct elicitation *e)
{
	const struct mcp_host_events *host = &e->client->options.host;

	elicitation_detach(e);
	if (host->on_elicitation_gone)
		host->on_elicitation_gone(host->data, &e->public);
	arena_release(&e->arena);
	free(e);
}

/* id: empty for one of an error. */
static struct elicitation *elicitation_new(struct mcp_client *c, struct str id, const struct json *params)
{
	const struct json *schema = json_get(params, "requestedSchema");
	struct elicitation *e = xnew(struct elicitation, .client = c);

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
	const struct mcp_host_events *host = &c->options.host;
	bool is_url = json_str_is(json_get(params, "mode"), "url");

	if (is_url && !json_is(json_get(params, "url"), JSON_STRING)) {
		mcp_rpc_error(&c->rpc, id, -32602, "an elicitation by address needs a url");
		return;
	}
	if (!host->on_elicitation || c->elicitation_count >= OPEN_LIMIT) {
		mcp_rpc_reply(&c->rpc, id, "result", STR("{\"action\":\"decline\"}"));
		return;
	}
	struct elicitation *e = elicitation_new(c, id, params);
	host->on_elicitation(host->data, c, &e->public);
}

/* The content of an accepted form, completed by the defaults of its schema. */
static void put_accepted(struct json_out *w, struct str schema_text, struct str content_text)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader schema_reader = { 0 }, content_reader = { 0 };
	const struct json *schema = NULL;
	const struct json *content = NULL;

	(void)json_parse(&schema_reader, schema_text.p, schema_text.n, &schema, NULL);
	if (content_text.n)
		(void)json_parse(&content_reader, content_text.p, content_text.n, &content, NULL);
	const struct json *properties = json_get(schema, "properties");
	json_kopen(w, "content", '{');
	json_put_members(w, content, NULL, NULL);
	for (struct json_member m = json_members(properties); m.key; m = json_member_next(properties, m)) {
		struct str name = json_str(m.key, &a);
		const struct json *value = json_get(m.value, "default");
		if (!value || json_get_str(content, name))
			continue;
		json_key_str(w, name);
		json_put_raw(w, json_raw(value));
	}
	json_close(w);
}

void mcp_elicitation_answer(struct mcp_elicitation *public, const char *action, struct str content)
{
	struct elicitation *e = CONTAINER_OF(public, struct elicitation, public);
	bool accepted = !strcmp(action, "accept");

	elicitation_detach(e);

	if (!e->held) {
		AUTO_BUF struct buf result = { 0 };
		struct json_out w = json_out(&result);
		json_putf(&w, "{action:'%s'", action);
		if (accepted && !strcmp(public->mode, "form"))
			put_accepted(&w, public->schema, content);
		json_close(&w);
		mcp_rpc_reply(&e->client->rpc, e->request_id, "result", buf_str(&result));
	} else if (accepted) {
		mcp_request_resume(e->held);
	} else {
		struct err why = { 0 };
		(void)err_set(&why, ERR_DENIED,
			      "the server %.60s requires the user to visit a URL first, and that was not accepted",
			      e->client->server->name);
		mcp_request_refuse(e->held, &why);
	}
	arena_release(&e->arena);
	free(e);
}

/* A request of ours that needs URLs visited first: held until all of them were accepted. */
static bool on_barred(void *data, struct mcp_request *r, const struct json *error)
{
	struct mcp_client *c = data;
	const struct mcp_host_events *host = &c->options.host;
	const struct json *list = json_get(json_get(error, "data"), "elicitations");
	size_t count = 0;

	for (const struct json *v = json_first(list); v; v = json_next(list, v), count++)
		if (!json_str_is(json_get(v, "mode"), "url") || !json_is(json_get(v, "url"), JSON_STRING))
			return false;
	if (!count || !host->on_elicitation || c->elicitation_count + count > OPEN_LIMIT)
		return false;
	mcp_request_hold(r); /* an answer may come at once: send nothing before all were asked */
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		struct elicitation *e = elicitation_new(c, STR(""), v);
		e->held = r;
		mcp_request_hold(r);
		host->on_elicitation(host->data, c, &e->public);
	}
	mcp_request_resume(r);
	return true;
}

static void on_held_end(void *data, const struct mcp_request *r)
{
	struct mcp_client *c = data;

	for (struct elicitation *e = c->elicitations, *next; e; e = next) {
		next = e->next;
		if (e->held == r)
			elicitation_drop(e);
	}
}

void mcp_elicitations_drop(struct mcp_client *c)
{
	while (c->elicitations)
		elicitation_drop(c->elicitations);
}

enum { METHOD_NOT_FOUND = -32601 };

static void on_request(void *data, struct str id, struct str method, const struct json *params)
{
	struct mcp_client *c = data;

	if (str_is(method, "ping"))
		mcp_rpc_reply(&c->rpc, id, "result", STR("{}"));
	else if (str_is(method, "roots/list")) {
		AUTO_BUF struct buf result = { 0 };
		struct json_out w = json_out(&result);
		const char *const *roots = c->options.env->roots;
		json_putf(&w, "{roots:[");
		for (; roots && *roots; roots++) {
			const char *slash = strrchr(*roots, '/');
			json_putf(&w, "{uri:'%s', name:'%s'}", *roots, slash && slash[1] ? slash + 1 : *roots);
		}
		json_putf(&w, "]}");
		mcp_rpc_reply(&c->rpc, id, "result", buf_str(&result));
	} else if (str_is(method, "elicitation/create"))
		elicitation_start(c, id, params);
	else
		mcp_rpc_error(&c->rpc, id, METHOD_NOT_FOUND, "this client does not have that method");
}

static void log_message(struct mcp_client *c, const struct json *params)
{
	/* The levels of syslog. A log gets no other level. */
	static const char *const levels[] = { "debug", "info",     "notice", "warning",
					      "error", "critical", "alert",  "emergency" };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *data = json_get(params, "data");
	struct str text = json_is(data, JSON_STRING) ? json_str(data, &a) : data ? json_raw(data) : STR("");
	const char *level = "info";

	for (size_t i = 0; i < COUNT_OF(levels); i++)
		if (json_str_is(json_get(params, "level"), levels[i]))
			level = levels[i];
	mcp_client_log(c, level, STR_FMT, STR_ARG(text));
}

static void on_notice(void *data, struct str method, const struct json *params)
{
	struct mcp_client *c = data;

	if (mcp_lists_take_notice(c, method))
		return;
	if (str_is(method, "notifications/progress")) {
		mcp_rpc_progress(&c->rpc, params);
	} else if (str_is(method, "notifications/message")) {
		log_message(c, params);
	} else if (str_is(method, "notifications/cancelled")) {
		const struct json *id = json_get(params, "requestId");
		for (struct elicitation *e = c->elicitations; id && e; e = e->next)
			if (str_eq(e->request_id, json_raw(id))) {
				elicitation_drop(e);
				return;
			}
	}
}

static void on_fault(void *data, const char *text)
{
	mcp_client_log(data, "warning", "it sent %s", text);
}

const struct mcp_rpc_handlers mcp_client_rpc_handlers = {
	.on_request = on_request,
	.on_notice = on_notice,
	.on_barred = on_barred,
	.on_held_end = on_held_end,
	.on_fault = on_fault,
};
