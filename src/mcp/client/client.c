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
 * Callbacks record what happened and kick; the kick looks at the end of a transport, tells what has changed and frees a
 * client that was closed. */
#include "mcp/client/client.h"
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

static void mcp_client_say_closed(const struct mcp_client *c, struct err *err);

/* ---- the way to a connection ---- */

enum {
	HELD_MS = 60000,    /* a connection that was none of a row of failures */
	SESSION_MS = 1000,  /* a session that was one */
	PERSON_MS = 300000, /* in a browser */
	REMOTE_FIRST_TRIES = 3,
	REMOTE_TRIES = 5,
	PROCESS_TRIES = 3,
	FIRST_DELAY_MS = 1000,
};

/* Newest first; the first one is what we ask for. */
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

	/* Says in c->error why the connection is over, unless we have ended it ourselves and said so. */
	if (c->phase != MCP_PHASE_ENDING) {
		c->error = (struct err){ 0 };
		if (err) {
			c->error = *err;
		} else {
			(void)err_set(&c->error, ERR_IO, "the connection was closed");
		}
	}
	c->transport = NULL;
	c->needs_auth = needs_auth;
	c->again = again;
	c->gone = true;
	loop_kick(c->loop, &c->kick);
	if (c->closing)
		mcp_client_say_closed(c, &why);
	else
		(void)err_set(&why, ERR_IO,
			      c->server->kind == MCP_STDIO
				      ? "the server %.60s died during the call: %s"
				      : "the connection to the server %.60s was lost during the call: %s",
			      c->server->name, c->error.text);
	mcp_rpc_disconnect(&c->rpc, &why);
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

static bool is_remote(const struct mcp_client *c)
{
	return c->server->kind == MCP_HTTP || c->server->kind == MCP_SSE;
}

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
			      "the server %.60s speaks version \"" STR_FMT "\" of MCP; here it is %s down to %s",
			      c->server->name, (int)MIN(version.n, 40), version.p ? version.p : "", versions[0],
			      versions[COUNT_OF(versions) - 1]);
		err = &why;
	}
	if (err) {
		/* From our side. What follows is decided when the transport is gone. */
		c->error = *err;
		mcp_client_set_phase(c, MCP_PHASE_ENDING);
		mcp_transport_close(c->transport);
		return;
	}
	buf_clear(&c->hello);
	buf_add(&c->hello, result->text, result->len);
	mcp_transport_ready(c->transport, known);
	mcp_rpc_notify(&c->rpc, "notifications/initialized", STR(""));
	mcp_client_set_phase(c, MCP_PHASE_LISTS);
	mcp_lists_start(c, json_get(result, "capabilities"));
}

static void write_hello(struct buf *out)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "protocolVersion", versions[0]);
	json_kraw(&w, "capabilities",
		  STR("{\"roots\":{\"listChanged\":true},\"elicitation\":{\"form\":{},\"url\":{}}}"));
	json_key(&w, "clientInfo");
	json_open(&w, '{');
	json_kcstr(&w, "name", "cadre");
	json_kcstr(&w, "title", "cadre");
	json_kcstr(&w, "version", CADRE_VERSION);
	json_close(&w);
	json_close(&w);
}

static int open_transport(struct mcp_client *c, struct err *err)
{
	struct mcp_transport *t =
		c->options.make_transport
			? c->options.make_transport(c->options.transport_data, c->server, &transport_handlers, c)
			: NULL;

	if (!t && c->server->kind == MCP_SDK)
		return err_set(err, ERR_NOT_FOUND, "the host does not offer the server %.60s", c->server->name);
	if (!t)
		t = mcp_transport_new(c->options.env, c->server, &transport_handlers, c);
	if (mcp_transport_start(t, err) < 0) {
		mcp_transport_free(t);
		return -(int)err->kind;
	}
	c->transport = t;
	return 0;
}

/* A remote server may need sign-in in a browser first; the transport has its own timeout for silence. */
static uint64_t handshake_ms(const struct mcp_client *c)
{
	bool may_ask = is_remote(c) && c->options.env->open_url;

	return may_ask ? MAX(c->connect_ms, (uint64_t)PERSON_MS) : c->connect_ms;
}

static void client_connect(struct mcp_client *c)
{
	AUTO_BUF struct buf hello = { 0 };
	struct mcp_call call = { .method = "initialize", .answer = on_initialized, .data = c };

	c->needs_auth = c->again = false;
	mcp_client_set_phase(c, MCP_PHASE_HANDSHAKE);
	if (open_transport(c, &c->error) < 0) {
		c->gone = true;
		loop_kick(c->loop, &c->kick);
		return;
	}
	mcp_rpc_connect(&c->rpc, c->transport);
	write_hello(&hello);
	call.params = buf_str(&hello);
	(void)mcp_rpc_call(&c->rpc, &call, handshake_ms(c), 0, true);
}

static bool is_worth_a_try(const struct mcp_client *c)
{
	if (c->was_ready)
		return c->failures <= (is_remote(c) ? REMOTE_TRIES : PROCESS_TRIES);
	return is_remote(c) && c->failures < REMOTE_FIRST_TRIES &&
	       (c->error.kind == ERR_IO || c->error.kind == ERR_TIMEOUT);
}

static void client_disconnected(struct mcp_client *c)
{
	bool ready = c->phase == MCP_PHASE_READY;
	uint64_t held_ms = ready ? loop_now_ms(c->loop) - c->ready_ms : 0;
	uint64_t delay_ms;

	c->was_ready = c->was_ready || ready;
	if (c->again && held_ms >= SESSION_MS) { /* a session that was over, as sessions are */
		client_connect(c);
		return;
	}
	c->failures = held_ms >= HELD_MS ? 1 : c->failures + 1;
	if (c->needs_auth || !is_worth_a_try(c)) {
		struct err why = { 0 };
		(void)err_set(&why, ERR_IO, "the server %.60s is not connected: %s", c->server->name, c->error.text);
		mcp_client_log(c, "error", "not connected: %s", c->error.text);
		mcp_client_set_phase(c, MCP_PHASE_DOWN);
		mcp_rpc_fail_all(&c->rpc, &why);
		return;
	}
	delay_ms = (uint64_t)FIRST_DELAY_MS << (c->failures - 1);
	mcp_client_log(c, ready && !is_remote(c) ? "error" : "warning", "%s; the next try is in %g s", c->error.text,
		       (double)delay_ms / 1000);
	mcp_client_set_phase(c, MCP_PHASE_WAIT);
	timer_start(c->loop, &c->timer, delay_ms);
}

/* ---- its life from outside ---- */

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

void mcp_client_log(struct mcp_client *c, const char *level, const char *fmt, ...)
{
	char text[LOG_LINE];
	va_list ap;

	if (!c->options.events.on_log || c->closing)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->options.events.on_log(c, c->options.events.data, level, str_from(text));
}

static void client_notify(struct mcp_client *c)
{
	const struct mcp_client_events *events = &c->options.events;

	if (c->state_changed) {
		c->state_changed = false;
		if (events->on_state)
			events->on_state(c, events->data);
	}
	if (c->catalog_changed && !c->closing) {
		c->catalog_changed = false;
		if (events->on_catalog)
			events->on_catalog(c, events->data);
	}
}

/* how calls end when we close it */
static void mcp_client_say_closed(const struct mcp_client *c, struct err *err)
{
	(void)err_set(err, ERR_CANCELLED, "the connection to the server %.60s was closed", c->server->name);
}

static void finish_closing(struct mcp_client *c)
{
	struct err why = { 0 };
	void (*closed)(void *data) = c->closed;
	void *data = c->closed_data;

	mcp_elicitations_drop(c);
	mcp_client_say_closed(c, &why);
	mcp_rpc_fail_all(&c->rpc, &why);
	if (c->rpc.count) { /* those that were cancelled have a kick of their own */
		loop_kick(c->loop, &c->kick);
		return;
	}
	if (c->transport)
		return; /* its end kicks */
	kick_cancel(&c->kick);
	timer_stop(c->loop, &c->timer);
	mcp_lists_release(c);
	mcp_rpc_release(&c->rpc);
	buf_release(&c->hello);
	mcp_catalog_unref(c->catalog);
	mcp_server_unref(c->server);
	free(c);
	if (closed)
		closed(data);
}

static void on_kick(struct kick *kick)
{
	struct mcp_client *c = CONTAINER_OF(kick, struct mcp_client, kick);

	if (c->closing) {
		finish_closing(c);
		return;
	}
	if (c->gone) {
		c->gone = false;
		client_disconnected(c);
	}
	client_notify(c);
}

static void on_retry_timer(struct timer *timer)
{
	client_connect(CONTAINER_OF(timer, struct mcp_client, timer));
}

/* Milliseconds of an environment variable; anything but a positive number counts as unset. */
static uint64_t ms_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	uint64_t ms;

	return text && str_to_u64(str_from(text), &ms) && ms ? ms : otherwise;
}

struct mcp_client *mcp_client_new(const struct mcp_client_options *options)
{
	struct mcp_client *c = xcalloc(1, sizeof *c);

	c->options = *options;
	c->loop = options->env->loop;
	c->server = mcp_server_ref(options->server);
	c->connect_ms = options->connect_ms ? options->connect_ms : ms_of("MCP_TIMEOUT", CONNECT_MS);
	c->call_ms = options->call_ms ? options->call_ms : ms_of("MCP_TOOL_TIMEOUT", CALL_MS);
	c->idle_ms = ms_of("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", 0);
	c->kick.step = on_kick;
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
		mcp_transport_close(c->transport);
	loop_kick(c->loop, &c->kick);
}

enum mcp_state mcp_client_state(const struct mcp_client *c)
{
	switch (c->phase) {
	case MCP_PHASE_READY:
		return MCP_CONNECTED;
	case MCP_PHASE_DOWN:
		return c->needs_auth ? MCP_NEEDS_AUTH : MCP_FAILED;
	default:
		return MCP_PENDING;
	}
}

const char *mcp_client_error(const struct mcp_client *c)
{
	return c->phase == MCP_PHASE_READY ? "" : c->error.text;
}

const struct mcp_server *mcp_client_server(const struct mcp_client *c)
{
	return c->server;
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
