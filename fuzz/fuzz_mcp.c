/* SPDX-License-Identifier: MIT
 * fuzz_mcp.c - a server that says anything: the lines of the input are its messages, one after the other, into a client with
 * a call open. "$N" in a line becomes the id of the N-th request that the client has sent, so that answers meet questions.
 * Whatever comes, every call has exactly one end and closing ends everything. */
#include "mcp/client/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IDS = 10, LINES_LIMIT = 200 };

struct server {
	struct mcp_transport t;
	struct loop *loop;
	struct kick kick;
	struct str rest; /* of the input */
	int64_t ids[IDS];
	unsigned requests, lines;
	bool running, closing;
};

struct run {
	struct server server;
	struct mcp_env env;
	struct mcp_client *client;
	unsigned calls, ends;
	bool closed;
};

static void add_line(const struct server *s, struct str line, struct buf *out)
{
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '$' && i + 1 < line.n && line.p[i + 1] >= '0' && line.p[i + 1] <= '9')
			buf_addf(out, "%lld", (long long)s->ids[line.p[++i] - '0']);
		else
			buf_addch(out, line.p[i]);
	}
}

/* One line a turn; the server dies with its input, or when it was asked to. */
static void on_kick(struct kick *kick)
{
	struct server *s = CONTAINER_OF(kick, struct server, kick);
	AUTO_BUF struct buf message = { 0 };
	struct err err = { .kind = ERR_IO, .text = "no more" };

	if (s->closing || !s->rest.p || s->lines++ >= LINES_LIMIT) {
		s->running = false;
		s->t.handlers.on_closed(s->t.data, s->closing ? NULL : &err, false, false);
		return;
	}
	add_line(s, str_cut(&s->rest, '\n'), &message);
	s->t.handlers.on_message(s->t.data, buf_str(&message));
	loop_kick(s->loop, &s->kick);
}

static int server_start(struct mcp_transport *t, struct err *err)
{
	struct server *s = CONTAINER_OF(t, struct server, t);

	if (!s->rest.p)
		return err_set(err, ERR_IO, "it starts once only");
	s->running = true;
	loop_kick(s->loop, &s->kick);
	return 0;
}

static void server_send(struct mcp_transport *t, int64_t id, struct str json)
{
	struct server *s = CONTAINER_OF(t, struct server, t);

	if (memchr(json.p, '\n', json.n))
		abort();
	if (id && s->requests < IDS)
		s->ids[s->requests++] = id;
}

static void server_close(struct mcp_transport *t)
{
	struct server *s = CONTAINER_OF(t, struct server, t);

	s->closing = true;
	loop_kick(s->loop, &s->kick);
}

static void server_free(struct mcp_transport *t)
{
	(void)t;
}

static const struct mcp_transport_class server_class = {
	.start = server_start,
	.send = server_send,
	.close = server_close,
	.free = server_free,
};

static struct mcp_transport *make_transport(void *data, struct mcp_server *server,
					    const struct mcp_transport_handlers *handlers, void *handler_data)
{
	struct server *s = data;

	(void)server;
	s->closing = false;
	s->t.class = &server_class;
	s->t.handlers = *handlers;
	s->t.data = handler_data;
	return &s->t;
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct run *r = data;

	if (!result && !err)
		abort();
	r->ends++;
}

static void on_progress(void *data, double progress, double total, struct str message)
{
	(void)data, (void)progress, (void)total, (void)message;
}

static void on_catalog(struct mcp_client *c, void *data)
{
	(void)data;
	mcp_catalog_unref(mcp_client_catalog(c));
}

static void on_elicitation(void *data, const struct mcp_client *client, struct mcp_elicitation *e)
{
	(void)data, (void)client;
	if (!str_starts(e->message, STR("later"))) /* such a one ends with what it belongs to */
		mcp_elicitation_answer(e, str_starts(e->message, STR("no")) ? "decline" : "accept", STR("{\"a\":1}"));
}

static void call(struct run *r)
{
	r->calls++;
	(void)mcp_client_call(r->client, &(struct mcp_call){ .method = "tools/call",
							     .params = STR("{\"name\":\"x\"}"),
							     .timeout_ms = 100000,
							     .answer = on_answer,
							     .progress = on_progress,
							     .data = r });
}

static void on_closed(void *data)
{
	((struct run *)data)->closed = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { 0 };
	struct mcp_server server = { .refs = 1, .name = "fuzz", .key = "fuzz", .kind = MCP_SDK };

	r.server = (struct server){ .loop = loop_new(LOOP_VIRTUAL_CLOCK),
				    .kick.step = on_kick,
				    .rest = { (const char *)data, size } };
	r.env.loop = r.server.loop;
	r.client = mcp_client_new(&(struct mcp_client_options){
		.env = &r.env,
		.server = &server,
		.host = { .on_elicitation = on_elicitation, .make_transport = make_transport, .data = &r.server },
		.on_catalog = on_catalog,
	});
	mcp_client_start(r.client);
	call(&r);
	call(&r);
	loop_run(r.server.loop);
	if (r.ends != r.calls)
		abort();
	mcp_client_close(r.client, on_closed, &r);
	loop_run(r.server.loop);
	if (!r.closed || server.refs != 1)
		abort();
	loop_free(r.server.loop);
	return 0;
}
