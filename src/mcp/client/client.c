/* SPDX-License-Identifier: MIT
 * client.c - one connection to one server: its states and events.
 *
 *     NEW --start--> HANDSHAKE --initialized--> LISTS --all are there--> READY
 *                      ^  |                       |                       |
 *                      |  +--refused, timed out---+--> ENDING (we hang up) |
 *               timer  |                                   |              |
 *                     WAIT <--try again-- the transport is gone <---------+
 *                                           \--no more tries, needs a person--> DOWN --start--> HANDSHAKE
 *
 * Callbacks record what happened and kick; the kick handles the end of a transport, reports changes and frees a closed
 * client. */
#include "mcp/client/client.h"
#include "mcp/client/client_int.h"

enum {
	HELD_MS = 60000,    /* a connection that lasts this long resets the count of failures */
	SESSION_MS = 1000,  /* a session that expires after this is renewed at once */
	PERSON_MS = 300000, /* for sign-in in a browser */
	REMOTE_FIRST_TRIES = 3,
	REMOTE_TRIES = 5,
	PROCESS_TRIES = 3,
	FIRST_DELAY_MS = 1000,
};

/* Newest first; the handshake offers the first one. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07" };

static void on_message(void *data, struct str json)
{
	struct mcp_client *c = data;

	if (!c->closing && c->phase != MCP_PHASE_ENDING)
		mcp_rpc_receive(&c->rpc, json);
}

static void on_line(void *data, struct str line)
{
	mcp_client_log(data, "info", STR_FMT, STR_ARG(line));
}

static void on_lost(void *data, int64_t id, const struct err *err)
{
	struct mcp_client *c = data;

	mcp_rpc_lost(&c->rpc, id, err);
}

static void on_returned(void *data, int64_t id)
{
	struct mcp_client *c = data;

	if (!c->closing && c->phase == MCP_PHASE_READY)
		mcp_rpc_returned(&c->rpc, id);
}

static void on_closed(void *data, const struct err *err, bool needs_auth, bool again)
{
	struct mcp_client *c = data;
	struct err why = { 0 };

	if (c->phase != MCP_PHASE_ENDING) { /* otherwise c->error is set already */
		c->error = (struct err){ 0 };
		if (err)
			c->error = *err;
		else
			(void)err_set(&c->error, ERR_IO, "the connection was closed");
	}
	c->transport = NULL;
	c->needs_auth = needs_auth;
	c->again = again;
	c->gone = true;
	loop_kick(c->loop, &c->kick);
	if (c->closing)
		(void)err_set(&why, ERR_CANCELLED, "the connection to the server %.60s was closed", c->server->name);
	else
		(void)err_set(&why, ERR_IO,
			      c->server->kind == MCP_STDIO
				      ? "the server %.60s died during the call: %s"
				      : "the connection to the server %.60s was lost during the call: %s",
			      c->server->name, c->error.text);
	c->rpc.transport = NULL;
	c->rpc.ready = false;
	mcp_rpc_fail(&c->rpc, &why, false);
	mcp_lists_stop(c);
	mcp_elicitations_drop(c);
}

static const struct mcp_transport_handlers transport_handlers = {
	.on_message = on_message,
	.on_log = on_line,
	.on_lost = on_lost,
	.on_returned = on_returned,
	.on_closed = on_closed,
};

const char *mcp_version(struct str version)
{
	if (!version.n)
		return versions[0];
	for (size_t i = 0; i < COUNT_OF(versions); i++)
		if (str_is(version, versions[i]))
			return versions[i];
	return NULL;
}

static void on_initialized(void *data, const struct json *result, const struct err *err)
{
	struct mcp_client *c = data;
	AUTO_ARENA struct arena a = { 0 };
	struct err why = { 0 };
	struct str version = json_str(json_get(result, "protocolVersion"), &a);
	const char *known = version.n ? mcp_version(version) : NULL;

	if (c->closing || !c->transport || c->phase == MCP_PHASE_ENDING)
		return;
	if (!err && !known) {
		(void)err_set(&why, ERR_PROTOCOL,
			      "the server %.60s uses MCP version \"" STR_FMT "\"; supported are %s to %s",
			      c->server->name, (int)MIN(version.n, 40), version.p ? version.p : "", versions[0],
			      versions[COUNT_OF(versions) - 1]);
		err = &why;
	}
	if (err) {
		/* client_disconnected() decides about another try. */
		c->error = *err;
		mcp_client_set_phase(c, MCP_PHASE_ENDING);
		c->transport->class->close(c->transport);
		return;
	}
	buf_clear(&c->hello);
	buf_add(&c->hello, result->text, result->len);
	if (c->transport->class->ready)
		c->transport->class->ready(c->transport, known);
	mcp_rpc_notify(&c->rpc, "notifications/initialized", STR(""));
	mcp_client_set_phase(c, MCP_PHASE_LISTS);
	mcp_lists_start(c, json_get(result, "capabilities"));
}

static void client_connect(struct mcp_client *c)
{
	AUTO_BUF struct buf hello = { 0 };
	const struct mcp_client_options *o = &c->options;
	struct mcp_transport *t =
		o->host.make_transport ? o->host.make_transport(o->host.data, c->server, &transport_handlers, c) : NULL;

	c->needs_auth = c->again = false;
	mcp_client_set_phase(c, MCP_PHASE_HANDSHAKE);
	if (!t && c->server->kind == MCP_SDK) {
		(void)err_set(&c->error, ERR_NOT_FOUND, "the host does not offer the server %.60s", c->server->name);
	} else {
		if (!t)
			t = mcp_transport_new(o->env, c->server, &transport_handlers, c);
		if (t->class->start(t, &c->error) < 0) {
			t->class->free(t);
			t = NULL;
		}
	}
	c->transport = t;
	if (!t) {
		c->gone = true;
		loop_kick(c->loop, &c->kick);
		return;
	}
	c->rpc.transport = t;
	buf_addf(&hello,
		 "{\"protocolVersion\":\"%s\","
		 "\"capabilities\":{\"roots\":{\"listChanged\":true},\"elicitation\":{\"form\":{},\"url\":{}}},"
		 "\"clientInfo\":{\"name\":\"cadre\",\"title\":\"cadre\",\"version\":\"%s\"}}",
		 versions[0], CADRE_VERSION);
	/* A remote server may need sign-in in a browser first; the transport has its own timeout for silence. */
	uint64_t timeout_ms =
		c->is_remote && o->env->open_url ? MAX(c->connect_ms, (uint64_t)PERSON_MS) : c->connect_ms;
	struct mcp_call call = {
		.method = "initialize", .params = buf_str(&hello), .answer = on_initialized, .data = c
	};
	(void)mcp_rpc_call(&c->rpc, &call, timeout_ms, 0, true);
}

static void client_disconnected(struct mcp_client *c)
{
	bool ready = c->phase == MCP_PHASE_READY;
	uint64_t held_ms = ready ? loop_now_ms(c->loop) - c->ready_ms : 0;

	c->was_ready = c->was_ready || ready;
	if (c->again && held_ms >= SESSION_MS) { /* the session has expired */
		client_connect(c);
		return;
	}
	c->failures = held_ms >= HELD_MS ? 1 : c->failures + 1;
	bool retry = c->was_ready ? c->failures <= (c->is_remote ? REMOTE_TRIES : PROCESS_TRIES)
				  : c->is_remote && c->failures < REMOTE_FIRST_TRIES &&
					    (c->error.kind == ERR_IO || c->error.kind == ERR_TIMEOUT);
	if (c->needs_auth || !retry) {
		struct err why = { 0 };
		(void)err_set(&why, ERR_IO, "the server %.60s is not connected: %s", c->server->name, c->error.text);
		mcp_client_log(c, "error", "not connected: %s", c->error.text);
		mcp_client_set_phase(c, MCP_PHASE_DOWN);
		mcp_rpc_fail(&c->rpc, &why, true);
		return;
	}
	uint64_t delay_ms = (uint64_t)FIRST_DELAY_MS << (c->failures - 1);
	mcp_client_log(c, ready && !c->is_remote ? "error" : "warning", "%s; the next try is in %g s", c->error.text,
		       (double)delay_ms / 1000);
	mcp_client_set_phase(c, MCP_PHASE_WAIT);
	timer_start(c->loop, &c->timer, delay_ms);
}

enum { CONNECT_MS = 30000, CALL_MS = 100000000, LOG_LINE = 4096 };

const char *mcp_state_word(enum mcp_state state)
{
	static const char *const words[] = { "pending", "connected", "needs-auth", "failed", "disabled" };

	return words[state];
}

void mcp_client_set_phase(struct mcp_client *c, enum mcp_phase phase)
{
	enum mcp_state before = mcp_client_state(c);

	c->phase = phase;
	if (phase == MCP_PHASE_READY)
		c->ready_ms = loop_now_ms(c->loop);
	if (mcp_client_state(c) != before || phase == MCP_PHASE_DOWN) {
		c->state_changed = true;
		loop_kick(c->loop, &c->kick);
	}
}

const struct mcp_server *mcp_client_server(const struct mcp_client *c)
{
	return c->server;
}

void mcp_client_log(struct mcp_client *c, const char *level, const char *fmt, ...)
{
	char text[LOG_LINE];

	if (!c->options.host.on_log || c->closing)
		return;
	PRINT_ARGS(text, fmt);
	c->options.host.on_log(c->options.host.data, c, level, str_from(text));
}

static void client_finish_closing(struct mcp_client *c)
{
	struct err why = { 0 };
	void (*closed)(void *data) = c->closed;
	void *data = c->closed_data;

	mcp_elicitations_drop(c);
	(void)err_set(&why, ERR_CANCELLED, "the connection to the server %.60s was closed", c->server->name);
	mcp_rpc_fail(&c->rpc, &why, true);
	if (c->rpc.count) { /* cancelled requests end in a kick of their own */
		loop_kick(c->loop, &c->kick);
		return;
	}
	if (c->transport)
		return; /* its end kicks */
	kick_cancel(&c->kick);
	timer_stop(c->loop, &c->timer);
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		buf_release(&c->lists[i].text);
		buf_release(&c->lists[i].cursor);
	}
	free(c->rpc.slots);
	json_reader_release(&c->rpc.reader);
	buf_release(&c->hello);
	mcp_catalog_unref(c->catalog);
	mcp_server_unref(c->server);
	free(c);
	if (closed)
		closed(data);
}

static void on_client_kick(struct kick *kick)
{
	struct mcp_client *c = CONTAINER_OF(kick, struct mcp_client, kick);
	const struct mcp_client_options *o = &c->options;

	if (c->closing) {
		client_finish_closing(c);
		return;
	}
	if (c->gone) {
		c->gone = false;
		client_disconnected(c);
	}
	if (c->state_changed) {
		c->state_changed = false;
		if (o->on_state)
			o->on_state(c, o->data);
	}
	if (c->catalog_changed && !c->closing) {
		c->catalog_changed = false;
		if (o->on_catalog)
			o->on_catalog(c, o->data);
	}
}

static void on_retry_timer(struct timer *timer)
{
	client_connect(CONTAINER_OF(timer, struct mcp_client, timer));
}

uint64_t mcp_env_number(const struct mcp_env *env, const char *variable, uint64_t otherwise)
{
	uint64_t n;

	return str_to_u64(str_from(env_get(env->envp, variable)), &n) && n ? n : otherwise;
}

struct mcp_client *mcp_client_new(const struct mcp_client_options *options)
{
	struct mcp_client *c = xnew(struct mcp_client, .options = *options, .loop = options->env->loop,
				    .server = mcp_server_ref(options->server),
				    .connect_ms = mcp_env_number(options->env, "MCP_TIMEOUT", CONNECT_MS),
				    .call_ms = mcp_env_number(options->env, "MCP_TOOL_TIMEOUT", CALL_MS),
				    .idle_ms = mcp_env_number(options->env, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", 0));

	c->is_remote = c->server->kind == MCP_HTTP || c->server->kind == MCP_SSE;
	c->kick.step = on_client_kick;
	c->timer.fire = on_retry_timer;
	c->rpc = (struct mcp_rpc){
		.loop = c->loop, .server = c->server->name, .handlers = &mcp_client_rpc_handlers, .data = c
	};
	mcp_lists_init(c);
	return c;
}

void mcp_client_start(struct mcp_client *c)
{
	if (c->closing || (c->phase != MCP_PHASE_NEW && c->phase != MCP_PHASE_WAIT && c->phase != MCP_PHASE_DOWN))
		return;
	timer_stop(c->loop, &c->timer);
	c->was_ready = false;
	c->failures = 0;
	client_connect(c);
}

void mcp_client_close(struct mcp_client *c, void (*done)(void *data), void *data)
{
	if (c->closing)
		return;
	c->closing = true;
	c->closed = done;
	c->closed_data = data;
	timer_stop(c->loop, &c->timer);
	mcp_lists_stop(c);
	if (c->transport && c->phase != MCP_PHASE_ENDING)
		c->transport->class->close(c->transport);
	loop_kick(c->loop, &c->kick);
}

enum mcp_state mcp_client_state(const struct mcp_client *c)
{
	if (c->phase == MCP_PHASE_DOWN)
		return c->needs_auth ? MCP_NEEDS_AUTH : MCP_FAILED;
	return c->phase == MCP_PHASE_READY ? MCP_CONNECTED : MCP_PENDING;
}

const char *mcp_client_error(const struct mcp_client *c)
{
	return c->phase == MCP_PHASE_READY ? "" : c->error.text;
}

struct mcp_catalog *mcp_client_catalog(struct mcp_client *c)
{
	return c->catalog ? mcp_catalog_ref(c->catalog) : NULL;
}

void mcp_client_roots_changed(struct mcp_client *c)
{
	if (c->phase == MCP_PHASE_READY || c->phase == MCP_PHASE_LISTS)
		mcp_rpc_notify(&c->rpc, "notifications/roots/list_changed", STR(""));
}

struct mcp_request *mcp_client_call(struct mcp_client *c, const struct mcp_call *call)
{
	uint64_t timeout_ms = call->timeout_ms        ? call->timeout_ms
			      : c->server->timeout_ms ? c->server->timeout_ms
						      : c->call_ms;
	struct mcp_request *r = mcp_rpc_call(&c->rpc, call, timeout_ms, c->idle_ms, false);
	struct err err = { 0 };

	if (c->closing || c->phase == MCP_PHASE_DOWN) {
		(void)err_set(&err, ERR_IO, "the server %.60s is not connected%s%s", c->server->name,
			      c->error.text[0] ? ": " : "", c->error.text);
		mcp_request_refuse(r, &err);
	}
	return r;
}
