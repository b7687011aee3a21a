/* SPDX-License-Identifier: MIT
 * client_connect.c - the way to a connection and back to one: transport, handshake, the next try.
 *
 * Tries: a remote server that could not be reached at first is tried 3 times, 1 and 2 s apart; one that was connected is
 * tried after 1, 2, 4, 8 and 16 s. A process that does not start is not tried again; one that was connected and dies is
 * started again after 1, 2 and 4 s. A connection that held for a minute forgets the failures before it, so a process is
 * started at most 3 times a minute. A session that the server forgot is opened again at once. */
#include "mcp/client/client_int.h"
#include "lib/json/json_write.h"

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

/* Says in c->error why the connection is over, unless we have ended it ourselves and said so. */
static void note_end(struct mcp_client *c, const struct err *err)
{
	if (c->phase == MCP_PHASE_ENDING)
		return;
	c->error = (struct err){ 0 };
	if (err) {
		c->error = *err;
	} else {
		(void)err_set(&c->error, ERR_IO, "the connection was closed");
	}
}

static void say_lost(const struct mcp_client *c, struct err *why)
{
	(void)err_set(why, ERR_IO,
		      c->server->kind == MCP_STDIO ? "the server %.60s died during the call: %s"
						   : "the connection to the server %.60s was lost during the call: %s",
		      c->server->name, c->error.text);
}

static void on_closed(void *data, const struct err *err, bool needs_auth, bool again)
{
	struct mcp_client *c = data;
	struct err why = { 0 };

	note_end(c, err);
	c->transport = NULL;
	c->needs_auth = needs_auth;
	c->again = again;
	c->gone = true;
	loop_kick(c->loop, &c->kick);
	if (c->closing)
		mcp_client_say_closed(c, &why);
	else
		say_lost(c, &why);
	mcp_rpc_disconnect(&c->rpc, &why);
	mcp_lists_stop(c);
	mcp_elicit_drop_all(c);
}

static const struct mcp_transport_handlers transport_handlers = {
	.on_message = on_message,
	.on_log = on_line,
	.on_lost = on_lost,
	.on_returned = on_returned,
	.on_closed = on_closed,
};

/* From our side. What follows is decided when the transport is gone. */
static void give_up(struct mcp_client *c, const struct err *why)
{
	c->error = *why;
	mcp_client_set_phase(c, MCP_PHASE_ENDING);
	mcp_transport_close(c->transport);
}

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
		give_up(c, err);
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
		t = mcp_transport_new(c->options.world, c->server, &transport_handlers, c);
	if (mcp_transport_start(t, err) < 0) {
		mcp_transport_free(t);
		return -(int)err->kind;
	}
	c->transport = t;
	return 0;
}

/* A remote server may send somebody to a browser first; against one that is silent the transport has a limit of its own. */
static uint64_t handshake_ms(const struct mcp_client *c)
{
	bool may_ask = is_remote(c) && c->options.world->open_url;

	return may_ask ? MAX(c->connect_ms, (uint64_t)PERSON_MS) : c->connect_ms;
}

void mcp_connect(struct mcp_client *c)
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

static void go_down(struct mcp_client *c)
{
	struct err why = { 0 };

	(void)err_set(&why, ERR_IO, "the server %.60s is not connected: %s", c->server->name, c->error.text);
	mcp_client_log(c, "error", "not connected: %s", c->error.text);
	mcp_client_set_phase(c, MCP_PHASE_DOWN);
	mcp_rpc_fail_all(&c->rpc, &why);
}

void mcp_connect_over(struct mcp_client *c)
{
	bool ready = c->phase == MCP_PHASE_READY;
	uint64_t held_ms = ready ? loop_now_ms(c->loop) - c->ready_ms : 0;
	uint64_t delay_ms;

	c->was_ready = c->was_ready || ready;
	if (c->again && held_ms >= SESSION_MS) { /* a session that was over, as sessions are */
		mcp_connect(c);
		return;
	}
	c->failures = held_ms >= HELD_MS ? 1 : c->failures + 1;
	if (c->needs_auth || !is_worth_a_try(c)) {
		go_down(c);
		return;
	}
	delay_ms = (uint64_t)FIRST_DELAY_MS << (c->failures - 1);
	mcp_client_log(c, ready && !is_remote(c) ? "error" : "warning", "%s; the next try is in %g s", c->error.text,
		       (double)delay_ms / 1000);
	mcp_client_set_phase(c, MCP_PHASE_WAIT);
	timer_start(c->loop, &c->timer, delay_ms);
}
