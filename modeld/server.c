/* SPDX-License-Identifier: MIT
 * server.c - listening, accepting, and the life of a connection: requests come in one after the other, each is answered before
 * the next is parsed. Callbacks record a fact (bytes came, time is over, a write is through) and call conn_advance(), which
 * alternates between two things until it has to wait:
 *
 *     read_request: bytes -> http_in -> engine -> reply        send_more: reply -> steps -> bytes to the peer
 *
 * An idle connection, or one whose reply waits for its latency, holds no buffers. */
#include "server.h"
#include <arpa/inet.h>
#include <assert.h>
#include "http_in.h"

enum { BACKLOG = 4096, LIMIT_AHEAD = 1 << 20, WRITE_BYTES = 64 * 1024 };

struct server {
	struct loop *loop;
	struct server_options options;
	uv_tcp_t listener;
	struct conn *conns; /* all that are open */
	unsigned port;
	uint64_t start_ms;
	bool stopping;
	char input[64 * 1024];         /* shared: libuv reads and hands over in one go */
	struct buf plain, out, sealed; /* scratch of one step */
};

struct conn {
	uv_tcp_t tcp;
	struct server *server;
	struct conn *next, **prev;
	struct http_in in;
	struct str fresh;    /* unused bytes of this read, borrowed until it returns */
	struct buf ahead;    /* bytes that came while they could not be taken */
	struct reply *reply; /* NULL: waiting for a request */
	struct tls *tls;
	struct timer timer;
	bool waited; /* the delay before the next step is over */
	bool head_sent, last_request, writing, stalled, closing;
};

/* The rest of a partial write */
struct pending_write {
	uv_write_t req;
	char bytes[];
};

static void conn_advance(struct conn *c);

static void on_closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	tls_free(c->tls);
	free(c);
}

static void conn_close(struct conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	timer_stop(c->server->loop, &c->timer);
	reply_free(TAKE(c->reply));
	http_in_next(&c->in);
	buf_release(&c->ahead);
	uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
	struct conn *c = req->data;

	free(CONTAINER_OF(req, struct pending_write, req));
	c->writing = false;
	if (status < 0)
		conn_close(c);
	conn_advance(c);
}

static void send_raw(struct conn *c, struct str bytes)
{
	uv_buf_t buf = uv_buf_init((char *)bytes.p, (unsigned)bytes.n);

	if (!bytes.n || c->closing)
		return;
	int n = c->writing ? UV_EAGAIN : uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
	if (n < 0 && n != UV_EAGAIN) {
		conn_close(c);
		return;
	}
	size_t sent = n < 0 ? 0 : (size_t)n, left = bytes.n - sent;
	if (!left)
		return;
	struct pending_write *w = xmalloc(sizeof *w + left);
	memcpy(w->bytes, bytes.p + sent, left);
	buf = uv_buf_init(w->bytes, (unsigned)left);
	w->req.data = c;
	c->writing = true;
	int rc = uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written);
	assert(rc == 0);
	(void)rc;
}

static void send_bytes(struct conn *c, struct str bytes)
{
	struct buf *sealed = &c->server->sealed;

	if (!c->tls) {
		send_raw(c, bytes);
		return;
	}
	buf_clear(sealed);
	if (tls_seal(c->tls, bytes, sealed) < 0)
		conn_close(c);
	else
		send_raw(c, buf_str(sealed));
}

/* length < 0: chunked. */
static void add_head(struct conn *c, const struct reply_head *head, int64_t length, struct buf *out)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 413, "Content Too Large" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 529, "Overloaded" },
	};
	const char *reason = "Status";

	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		if (reasons[i].status == head->status)
			reason = reasons[i].text;
	buf_addf(out, "HTTP/1.1 %d %s\r\ncontent-type: " STR_FMT "\r\n", head->status, reason,
		 STR_ARG(head->content_type));
	for (const char *const *h = head->headers; h && *h; h++) {
		buf_addstr(out, *h);
		buf_addstr(out, "\r\n");
	}
	if (c->last_request)
		buf_addstr(out, "connection: close\r\n");
	if (length < 0)
		buf_addstr(out, "transfer-encoding: chunked\r\n\r\n");
	else
		buf_addf(out, "content-length: %lld\r\n\r\n", (long long)length);
	c->head_sent = true;
}

static void send_page(struct conn *c, int status, struct str body)
{
	struct buf *out = &c->server->out;

	buf_clear(out);
	add_head(c, &(struct reply_head){ .status = status, .content_type = STR("application/json") }, (int64_t)body.n,
		 out);
	buf_add(out, body.p, body.n);
	c->head_sent = false;
	send_bytes(c, buf_str(out));
}

/* The steps of a reply are over, and their bytes are in out: the connection waits for a request again, or ends. */
static void end_steps(struct conn *c, enum reply_step_kind kind)
{
	send_bytes(c, buf_str(&c->server->out));
	if (c->closing)
		return;
	if (kind == REPLY_STALL) {
		c->stalled = true;
		return;
	}
	c->last_request = c->last_request || kind == REPLY_CUT;
	reply_free(TAKE(c->reply));
	c->head_sent = c->waited = false;
}

/* The body is known whole, so its length goes into the head; a fault promises one byte more than it sends. */
static void send_whole(struct conn *c)
{
	struct buf *out = &c->server->out;
	AUTO_BUF struct buf body = { 0 };
	struct reply_step step;

	while ((step = reply_next(c->reply)).kind == REPLY_BYTES)
		buf_add(&body, step.bytes.p, step.bytes.n);
	if (body.n || step.kind == REPLY_END) {
		add_head(c, reply_head(c->reply), (int64_t)body.n + (step.kind != REPLY_END), out);
		buf_add(out, body.p, body.n);
		reply_begun(c->reply);
	}
	end_steps(c, step.kind);
}

/* Steps without a delay between them go out in one write, each as its own chunk. */
static void send_steps(struct conn *c)
{
	struct buf *out = &c->server->out;

	do {
		struct reply_step step = reply_next(c->reply);
		if (!c->head_sent && (step.kind == REPLY_BYTES || step.kind == REPLY_END)) {
			add_head(c, reply_head(c->reply), -1, out);
			reply_begun(c->reply);
		}
		if (step.kind == REPLY_END)
			buf_addstr(out, "0\r\n\r\n");
		if (step.kind != REPLY_BYTES) {
			end_steps(c, step.kind);
			return;
		}
		buf_addf(out, "%zx\r\n", step.bytes.n);
		buf_add(out, step.bytes.p, step.bytes.n);
		buf_add(out, "\r\n", 2);
	} while (!reply_delay_ms(c->reply) && out->n < WRITE_BYTES);
	send_bytes(c, buf_str(out));
}

static void on_time(struct timer *timer)
{
	struct conn *c = CONTAINER_OF(timer, struct conn, timer);

	c->waited = true;
	conn_advance(c);
}

/* Sends the next part of the reply; false: it must wait. */
static bool send_more(struct conn *c)
{
	uint64_t delay_ms = reply_delay_ms(c->reply);

	if (c->writing || c->stalled || timer_running(&c->timer))
		return false;
	if (delay_ms && !c->waited) {
		timer_start(c->server->loop, &c->timer, delay_ms);
		return false;
	}
	c->waited = false;
	buf_clear(&c->server->out);
	if (reply_head(c->reply)->stream)
		send_steps(c);
	else
		send_whole(c);
	if (c->server->out.cap > 4 * WRITE_BYTES)
		buf_release(&c->server->out);
	return true;
}

static void serve_request(struct conn *c)
{
	struct server *s = c->server;
	const struct http_in *in = &c->in;
	AUTO_BUF struct buf page = { 0 };

	c->last_request = in->head.close;
	if (str_is(in->head.path, "/stats")) {
		engine_stats(s->options.engine, &page);
		send_page(c, 200, buf_str(&page));
	} else if (str_is(in->head.path, "/reset")) {
		engine_reset(s->options.engine);
		send_page(c, 200, STR("{}"));
	} else {
		uint64_t now_ms = loop_now_ms(s->loop);
		struct engine_request ask = {
			.path = in->head.path,
			.body = in->body,
			.agent = in->head.agent,
			.now_ms = now_ms,
		};
		c->reply = engine_ask(s->options.engine, &ask);
		request_log_add(s->options.log, in, reply_head(c->reply)->status, now_ms - s->start_ms);
	}
	if (!c->closing)
		http_in_next(&c->in);
}

/* Reads the next bytes; false: there are none. */
static bool read_request(struct conn *c)
{
	if (c->ahead.n && c->fresh.n) {
		buf_add(&c->ahead, c->fresh.p, c->fresh.n);
		c->fresh.n = 0;
	}
	struct str bytes = c->ahead.n ? buf_str(&c->ahead) : c->fresh;
	if (c->writing || !bytes.n)
		return false;
	size_t n = http_in_feed(&c->in, bytes.p, bytes.n);
	if (c->in.state == HTTP_IN_BAD) {
		AUTO_BUF struct buf body = { 0 };
		buf_addf(&body, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"}}",
			 c->in.status == 413 ? "request_too_large" : "invalid_request_error", c->in.why);
		c->last_request = true;
		send_page(c, c->in.status, buf_str(&body));
		return false;
	}
	if (c->in.state == HTTP_IN_DONE) {
		serve_request(c);
	} else if (c->in.head.expect && c->in.state != HTTP_IN_HEAD) {
		c->in.head.expect = false;
		send_bytes(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
	}
	if (!c->closing && c->ahead.n) {
		buf_drop(&c->ahead, n);
		if (!c->ahead.n)
			buf_release(&c->ahead);
	} else if (!c->closing) {
		c->fresh = (struct str){ c->fresh.p + n, c->fresh.n - n };
	}
	return n > 0;
}

static void conn_advance(struct conn *c)
{
	bool more = true;

	while (more && !c->closing)
		more = c->reply ? send_more(c) : !c->last_request && read_request(c);
	if (!c->reply && c->last_request && !c->writing)
		conn_close(c);
}

static void take_bytes(struct conn *c, struct str bytes)
{
	c->fresh = bytes;
	conn_advance(c);
	if (c->closing)
		return;
	buf_add(&c->ahead, c->fresh.p, c->fresh.n);
	c->fresh = (struct str){ 0 };
	if (c->ahead.n > LIMIT_AHEAD)
		conn_close(c);
}

static void on_alloc(uv_handle_t *h, size_t wanted, uv_buf_t *buf)
{
	struct conn *c = h->data;

	(void)wanted;
	*buf = uv_buf_init(c->server->input, sizeof c->server->input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn *c = stream->data;
	struct server *s = c->server;

	if (n < 0) {
		conn_close(c);
	} else if (n > 0 && c->tls) {
		buf_clear(&s->plain);
		buf_clear(&s->sealed);
		int rc = tls_open(c->tls, buf->base, (size_t)n, &s->plain, &s->sealed);
		send_raw(c, buf_str(&s->sealed));
		if (s->plain.n && !c->closing)
			take_bytes(c, buf_str(&s->plain));
		if (rc < 0)
			conn_close(c);
	} else if (n > 0) {
		take_bytes(c, (struct str){ buf->base, (size_t)n });
	}
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct server *s = listener->data;

	if (status < 0)
		return;
	struct conn *c = xcalloc(1, sizeof *c);
	c->server = s;
	c->timer.fire = on_time;
	c->next = s->conns;
	c->prev = &s->conns;
	if (c->next)
		c->next->prev = &c->next;
	s->conns = c;
	int rc = uv_tcp_init(loop_uv(s->loop), &c->tcp);
	assert(rc == 0);
	(void)rc;
	c->tcp.data = c;
	if (s->options.tls)
		c->tls = tls_new(s->options.tls);
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || uv_tcp_nodelay(&c->tcp, 1) < 0 ||
	    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
		conn_close(c);
}

int server_start(struct loop *loop, const struct server_options *options, struct server **ret_server, struct err *err)
{
	struct server *s = xcalloc(1, sizeof *s);
	struct sockaddr_in address;
	int size = sizeof address;

	s->loop = loop;
	s->options = *options;
	s->start_ms = loop_now_ms(loop);
	(void)uv_tcp_init(loop_uv(loop), &s->listener);
	s->listener.data = s;
	int rc = uv_ip4_addr("127.0.0.1", (int)options->port, &address);
	if (rc == 0)
		rc = uv_tcp_bind(&s->listener, (const struct sockaddr *)&address, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
	if (rc == 0)
		rc = uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &size);
	if (rc < 0) {
		server_stop(s);
		loop_run(loop);
		server_free(s);
		return err_set(err, ERR_IO, "cannot listen on 127.0.0.1:%u: %s", options->port, uv_strerror(rc));
	}
	s->port = ntohs(address.sin_port);
	*ret_server = s;
	return 0;
}

unsigned server_port(const struct server *s)
{
	return s->port;
}

void server_stop(struct server *s)
{
	if (s->stopping)
		return;
	s->stopping = true;
	uv_close((uv_handle_t *)&s->listener, NULL);
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		conn_close(c);
	}
}

void server_free(struct server *s)
{
	if (!s)
		return;
	buf_release(&s->plain);
	buf_release(&s->out);
	buf_release(&s->sealed);
	free(s);
}
