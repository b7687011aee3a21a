/* SPDX-License-Identifier: MIT
 * elicit.c - a server asks the user for something, by a request of its own, or by refusing one of ours until the user was
 * at some addresses (error -32042): then ours is held, and sent again once all of them were accepted. Where nobody answers it
 * is declined, and so is what goes above the limit of open ones. On accept, members that were left out get the defaults of
 * the schema (SEP-1034). */
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

enum { OPEN_LIMIT = 100 };

struct elicit {
	struct mcp_elicitation public;
	struct mcp_client *client;
	struct elicit *next;      /* among the open ones of the client */
	struct arena arena;       /* holds the texts */
	struct str request_id;    /* JSON; of the server's request */
	struct mcp_request *held; /* of ours; borrowed; NULL: the server has made one */
};

static void detach(struct elicit *e)
{
	struct elicit **at = &e->client->elicits;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	e->client->elicit_count--;
}

static void elicit_free(struct elicit *e)
{
	arena_release(&e->arena);
	free(e);
}

/* id: empty for one of an error. */
static struct elicit *elicit_new(struct mcp_client *c, struct str id, const struct json *params)
{
	struct elicit *e = xcalloc(1, sizeof *e);
	const struct json *schema = json_get(params, "requestedSchema");

	e->client = c;
	e->request_id = arena_str(&e->arena, id);
	e->public.server = c->server->name;
	e->public.mode = json_str_is(json_get(params, "mode"), "url") ? "url" : "form";
	e->public.message = arena_str(&e->arena, json_str(json_get(params, "message"), &e->arena));
	e->public.schema = schema ? arena_str(&e->arena, json_raw(schema)) : STR("{}");
	e->public.url = json_cstr(json_get(params, "url"), &e->arena);
	e->public.id = json_cstr(json_get(params, "elicitationId"), &e->arena);
	e->next = c->elicits;
	c->elicits = e;
	c->elicit_count++;
	return e;
}

void mcp_elicit_start(struct mcp_client *c, struct str id, const struct json *params)
{
	const struct mcp_client_events *events = &c->options.events;
	bool is_url = json_str_is(json_get(params, "mode"), "url");

	if (is_url && !json_is(json_get(params, "url"), JSON_STRING)) {
		mcp_rpc_error(&c->rpc, id, -32602, "an elicitation by address needs a url");
		return;
	}
	if (!events->on_elicit || c->elicit_count >= OPEN_LIMIT) {
		mcp_rpc_result(&c->rpc, id, STR("{\"action\":\"decline\"}"));
		return;
	}
	struct elicit *e = elicit_new(c, id, params);
	events->on_elicit(c, events->data, &e->public);
}

static void put_content(struct json_out *w, const struct json *content, struct arena *arena)
{
	for (struct json_member m = json_members(content); m.key; m = json_member_next(content, m)) {
		json_key_str(w, json_str(m.key, arena));
		json_put_raw(w, json_raw(m.value));
	}
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
	put_content(w, content, &a);
	put_defaults(w, schema, content, &a);
	json_close(w);
}

static void answer_server(struct elicit *e, const char *action, struct str content)
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

void mcp_elicit_answer(struct mcp_elicitation *public, const char *action, struct str content)
{
	struct elicit *e = CONTAINER_OF(public, struct elicit, public);

	detach(e);
	if (!e->held)
		answer_server(e, action, content);
	else if (!strcmp(action, "accept"))
		mcp_request_resume(e->held);
	else
		refuse_held(e->client, e->held);
	elicit_free(e);
}

/* ---- a request of ours that is barred ------------------------------------------------------------------------------ */

static bool is_address(const struct json *params)
{
	return json_str_is(json_get(params, "mode"), "url") && json_is(json_get(params, "url"), JSON_STRING);
}

static void ask_for(struct mcp_client *c, struct mcp_request *r, const struct json *params)
{
	const struct mcp_client_events *events = &c->options.events;
	struct elicit *e = elicit_new(c, STR(""), params);

	e->held = r;
	mcp_request_hold(r);
	events->on_elicit(c, events->data, &e->public);
}

bool mcp_elicit_barred(struct mcp_client *c, struct mcp_request *r, const struct json *error)
{
	const struct json *list = json_get(json_get(error, "data"), "elicitations");
	size_t count = 0;

	for (const struct json *v = json_first(list); v; v = json_next(list, v), count++)
		if (!is_address(v))
			return false;
	if (!count || !c->options.events.on_elicit || c->elicit_count + count > OPEN_LIMIT)
		return false;
	mcp_request_hold(r); /* an answer may come at once: nothing is sent before all were asked */
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		ask_for(c, r, v);
	mcp_request_resume(r);
	return true;
}

/* ---- nobody wants the answer any more -------------------------------------------------------------------------------- */

/* Of one that is not in the list any more. */
static void drop(struct elicit *e)
{
	const struct mcp_client_events *events = &e->client->options.events;

	if (events->on_elicit_gone)
		events->on_elicit_gone(e->client, events->data, &e->public);
	elicit_free(e);
}

void mcp_elicit_cancelled(struct mcp_client *c, const struct json *id)
{
	if (!id)
		return;
	for (struct elicit *e = c->elicits; e; e = e->next)
		if (str_eq(e->request_id, json_raw(id))) {
			detach(e);
			drop(e);
			return;
		}
}

void mcp_elicit_drop_held(struct mcp_client *c, const struct mcp_request *r)
{
	for (struct elicit *e = c->elicits, *next; e; e = next) {
		next = e->next;
		if (e->held != r)
			continue;
		detach(e);
		drop(e);
	}
}

void mcp_elicit_drop_all(struct mcp_client *c)
{
	while (c->elicits) {
		struct elicit *e = c->elicits;
		c->elicits = e->next;
		c->elicit_count--;
		drop(e);
	}
}
