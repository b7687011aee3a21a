/* SPDX-License-Identifier: MIT
 * client.c - one connection to one server: its life from outside, and what is told of it.
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
#include "mcp/client/client_int.h"

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

static void tell(struct mcp_client *c)
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

static void client_free(struct mcp_client *c)
{
	kick_cancel(&c->kick);
	timer_stop(c->loop, &c->timer);
	mcp_lists_release(c);
	mcp_rpc_release(&c->rpc);
	buf_release(&c->hello);
	mcp_catalog_unref(c->catalog);
	mcp_server_unref(c->server);
	free(c);
}

void mcp_client_say_closed(const struct mcp_client *c, struct err *err)
{
	(void)err_set(err, ERR_CANCELLED, "the connection to the server %.60s was closed", c->server->name);
}

static void finish_closing(struct mcp_client *c)
{
	struct err why = { 0 };
	void (*closed)(void *data) = c->closed;
	void *data = c->closed_data;

	mcp_elicit_drop_all(c);
	mcp_client_say_closed(c, &why);
	mcp_rpc_fail_all(&c->rpc, &why);
	if (c->rpc.count) { /* those that were cancelled have a kick of their own */
		loop_kick(c->loop, &c->kick);
		return;
	}
	if (c->transport)
		return; /* its end kicks */
	client_free(c);
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
		mcp_connect_over(c);
	}
	tell(c);
}

static void on_timer(struct timer *timer)
{
	mcp_connect(CONTAINER_OF(timer, struct mcp_client, timer));
}

/* Milliseconds of an environment variable; anything that is no number above 0 counts as not set. */
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
	c->loop = options->world->loop;
	c->server = mcp_server_ref(options->server);
	c->connect_ms = options->connect_ms ? options->connect_ms : ms_of("MCP_TIMEOUT", CONNECT_MS);
	c->call_ms = options->call_ms ? options->call_ms : ms_of("MCP_TOOL_TIMEOUT", CALL_MS);
	c->idle_ms = ms_of("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", 0);
	c->kick.step = on_kick;
	c->timer.fire = on_timer;
	c->rpc = (struct mcp_rpc){
		.loop = c->loop, .server = c->server->name, .handlers = &mcp_ask_handlers, .data = c
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
	mcp_connect(c);
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

static bool is_down(const struct mcp_client *c)
{
	return c->closing || c->phase == MCP_PHASE_DOWN;
}

struct mcp_request *mcp_client_call(struct mcp_client *c, const struct mcp_call *call)
{
	uint64_t timeout_ms = call->timeout_ms        ? call->timeout_ms
			      : c->server->timeout_ms ? c->server->timeout_ms
						      : c->call_ms;
	struct mcp_request *r = mcp_rpc_call(&c->rpc, call, timeout_ms, c->idle_ms, false);
	struct err err = { 0 };

	if (is_down(c)) {
		(void)err_set(&err, ERR_IO, "the server %.60s is not connected%s%s", c->server->name,
			      c->error.text[0] ? ": " : "", c->error.text);
		mcp_request_refuse(r, &err);
	}
	return r;
}
