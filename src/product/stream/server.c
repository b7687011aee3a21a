/* SPDX-License-Identifier: MIT
 * server.c - MCP servers in the client's process: a transport over the wire. Handshake and tool list are answered here
 * if the client's manifest has them. */
#include "mcp/transport/transport.h"
#include "product/stream/wire_int.h"
#include "lib/base/list.h"

/* Something for the client of the server, which it gets from the loop */
struct delivery {
	struct delivery *next;
	struct buf json;
	int64_t lost; /* id of a request that has no answer; 0: json is a message */
};

struct wire_transport {
	struct mcp_transport base;
	struct wire_server *server; /* borrowed; NULL: the wire is gone */
	struct cadre_wire *wire;    /* the same */
	struct kick kick;
	struct delivery *deliveries;
	unsigned asks; /* on their way: it lives until they are back */
	bool closing;
};

static const struct mcp_transport_class transport_class;
static void free_transport(struct mcp_transport *base);

static void transport_deliver(struct wire_transport *t, int64_t lost, struct str json)
{
	struct delivery *d = xnew(struct delivery, .lost = lost);

	buf_add(&d->json, json.p, json.n);
	list_push_last(&t->deliveries, d);
	loop_kick(t->base.env->loop, &t->kick);
}

static void on_kick(struct kick *kick)
{
	struct wire_transport *t = CONTAINER_OF(kick, struct wire_transport, kick);

	while (t->deliveries && !t->closing) {
		struct delivery *d = list_pop(&t->deliveries);
		if (d->lost) {
			struct err err = { 0 };
			(void)err_set(&err, ERR_PROTOCOL, "%s", d->json.n ? d->json.p : "the client gave no answer");
			t->base.handlers.on_lost(t->base.data, d->lost, &err);
		} else {
			t->base.handlers.on_message(t->base.data, buf_str(&d->json));
		}
		buf_release(&d->json);
		free(d);
	}
	if (!t->closing || t->asks)
		return;
	t->base.handlers.on_closed(t->base.data, NULL, false, false);
	free_transport(&t->base);
}

struct errand {
	struct wire_transport *transport;
	int64_t id; /* of the request; 0: none */
};

static void on_answer(void *data, const struct json *payload, struct str why)
{
	struct errand *e = data;
	struct wire_transport *t = e->transport;
	const struct json *response = json_get(payload, "mcp_response");

	t->asks--;
	if (!t->closing && e->id)
		transport_deliver(t, response ? 0 : e->id, response ? json_raw(response) : why);
	else if (t->closing)
		loop_kick(t->base.env->loop, &t->kick);
	free(e);
}

/* A result that the manifest has. False: the client must be asked. */
static bool answer_from_manifest(struct wire_transport *t, int64_t id, struct str json)
{
	static const struct {
		const char *method, *member;
	} known[] = { { "initialize", "initializeResult" }, { "tools/list", "toolsListResult" } };
	AUTO_JSON struct json_reader message = { 0 }, manifest = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	const struct json *root, *facts;

	if (!id || !t->server->manifest.n || json_parse(&message, json.p, json.n, &root, NULL) < 0 ||
	    json_parse(&manifest, t->server->manifest.p, t->server->manifest.n, &facts, NULL) < 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		const struct json *result = json_get(facts, known[i].member);
		if (!result || !json_str_is(json_get(root, "method"), known[i].method))
			continue;
		buf_addf(&answer, "{\"jsonrpc\":\"2.0\",\"id\":" STR_FMT ",\"result\":" STR_FMT "}",
			 STR_ARG(json_raw(json_get(root, "id"))), STR_ARG(json_raw(result)));
		transport_deliver(t, 0, buf_str(&answer));
		return true;
	}
	return false;
}

static void transport_send(struct mcp_transport *base, int64_t id, struct str json)
{
	struct wire_transport *t = CONTAINER_OF(base, struct wire_transport, base);
	AUTO_BUF struct buf request = { 0 };

	if (t->closing || (t->server && answer_from_manifest(t, id, json)))
		return;
	if (!t->wire || t->wire->input_over) {
		if (id)
			transport_deliver(t, id, STR("the client of this server has disconnected"));
		return;
	}
	struct errand *e = xnew(struct errand, .transport = t, .id = id);
	json_addf(&request, "{subtype:'mcp_message', server_name:'%s', message:%.*s}", t->server->name, STR_ARG(json));
	t->asks++;
	(void)wire_ask(t->wire, WIRE_ASK_OTHER, buf_str(&request), on_answer, e);
}

static int sdk_server_start(struct mcp_transport *base, struct err *err)
{
	struct wire_transport *t = CONTAINER_OF(base, struct wire_transport, base);

	return t->wire ? 0 : err_set(err, ERR_NOT_FOUND, "no client offers the server %s", base->server->name);
}

static void transport_detach(struct wire_transport *t)
{
	if (t->server && t->server->transport == &t->base)
		t->server->transport = NULL;
	t->server = NULL;
	t->wire = NULL;
}

static void close_transport(struct mcp_transport *base)
{
	struct wire_transport *t = CONTAINER_OF(base, struct wire_transport, base);

	t->closing = true;
	transport_detach(t);
	loop_kick(base->env->loop, &t->kick);
}

static void free_transport(struct mcp_transport *base)
{
	struct wire_transport *t = CONTAINER_OF(base, struct wire_transport, base);

	kick_cancel(&t->kick);
	transport_detach(t);
	for (struct delivery *d; (d = list_pop(&t->deliveries));) {
		buf_release(&d->json);
		free(d);
	}
	mcp_server_unref(base->server);
	free(t);
}

static const struct mcp_transport_class transport_class = {
	.start = sdk_server_start, .send = transport_send, .close = close_transport, .free = free_transport
};

static struct wire_server *find_server(struct cadre_wire *w, const char *name)
{
	struct wire_server *s = w->servers;

	while (s && strcmp(s->name, name) != 0)
		s = s->next;
	return s;
}

/* A server that only the configuration names (its entry says "sdk") is the newest client's. */
struct mcp_transport *wire_make_transport(struct services *sv, struct mcp_server *server,
					  const struct mcp_transport_handlers *handlers, void *data)
{
	struct cadre_wire *w = sv->wires;

	if (server->kind != MCP_SDK)
		return NULL;
	struct wire_transport *t = xcalloc(1, sizeof *t);
	while (w && !find_server(w, server->name))
		w = w->next;
	if (!w && sv->wires) {
		w = sv->wires;
		wire_add_server(w, str_from(server->name), NULL, NULL);
	}
	t->base = (struct mcp_transport){ .class = &transport_class,
					  .handlers = *handlers,
					  .data = data,
					  .server = mcp_server_ref(server),
					  .env = &sv->server_env };
	t->kick.step = on_kick;
	t->wire = w;
	t->server = w ? find_server(w, server->name) : NULL;
	if (t->server)
		t->server->transport = &t->base;
	return &t->base;
}

/* A time limit that is too short counts as none. */
static struct mcp_server *read_sdk_server(struct str name, const struct json *config)
{
	const struct json *timeout = json_get(config, "timeout"), *load = json_get(config, "alwaysLoad");
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf notes = { 0 }, entry = { 0 };
	struct mcp_server *server = NULL;
	uint64_t ms;

	json_addf(&entry, "{type:'sdk', alwaysLoad:!!%d, tools:%.*s", json_bool(load),
		  STR_ARG(json_raw(json_get(config, "tools"))));
	if (json_u64(timeout, &ms) && ms >= 1000)
		buf_addf(&entry, ",\"timeout\":%llu", (unsigned long long)ms);
	buf_addch(&entry, '}');
	const struct json *root = json_read(&reader, buf_str(&entry));
	(void)mcp_server_read(&(struct mcp_entry){ .name = name, .value = root, .scope = MCP_SCOPE_FLAG }, &notes,
			      &server, NULL, NULL);
	return server;
}

void wire_add_server(struct cadre_wire *w, struct str name, const struct json *manifest, const struct json *config)
{
	struct services *sv = w->services;
	struct str json = manifest ? json_raw(manifest) : STR("");
	/* Sessions that are opened from now on have it. */
	struct mcp_server *server = w->session ? NULL : read_sdk_server(name, config);

	if (server) {
		struct host_server *h = xnew(struct host_server, .next = sv->host_servers, .server = server);
		sv->host_servers = h;
	}
	struct wire_server *s = xcalloc(1, sizeof *s);
	s->name = xstrndup(name.p, name.n);
	buf_add(&s->manifest, json.p, json.n);
	s->next = w->servers;
	w->servers = s;
}

void wire_drop_server(struct cadre_wire *w, struct str name)
{
	struct wire_server **at = &w->servers;

	while (*at && !str_is(name, (*at)->name))
		at = &(*at)->next;
	struct wire_server *s = list_pop(at);
	if (!s)
		return;
	if (s->transport) {
		struct wire_transport *t = CONTAINER_OF(s->transport, struct wire_transport, base);
		t->wire = NULL;
		t->server = NULL;
	}
	buf_release(&s->manifest);
	free(s->name);
	free(s);
}

/* A notification or request of a client's server. */
int wire_mcp_message(struct wire_request *r, struct err *err)
{
	const char *name = json_cstr(json_get(r->body, "server_name"), r->arena);
	struct wire_server *s = name ? find_server(r->wire, name) : NULL;
	const struct json *message = json_get(r->body, "message");

	if (!s || !s->transport || !message)
		return err_set(err, ERR_NOT_FOUND, "SDK MCP server not found: %s", name ? name : "");
	transport_deliver(CONTAINER_OF(s->transport, struct wire_transport, base), 0, json_raw(message));
	return 0;
}
