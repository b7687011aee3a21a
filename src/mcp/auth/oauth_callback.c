/* SPDX-License-Identifier: MIT
 * oauth_callback.c - a web server for one answer. libuv owns its handles until they are closed, so the object outlives
 * oauth_callback_close and is freed with the last of them. */
#include "mcp/auth/auth_flow.h"
#include <arpa/inet.h>
#include "lib/base/buf.h"
#include "lib/base/list.h"
#include "mcp/auth/oauth_http.h"

enum { HEAD_LIMIT_BYTES = 16 << 10, CONN_LIMIT = 32, BACKLOG = 16, READ_BYTES = 4096 };

struct conn {
	struct oauth_callback *callback;
	uv_tcp_t tcp;
	uv_write_t write;
	struct buf head;
	bool answered;
	struct conn *next;
	char room[READ_BYTES];
};

struct oauth_callback {
	uv_tcp_t server;
	unsigned port;
	size_t handles; /* that libuv holds */
	struct conn *conns;
	struct arena arena;
	const char *state;
	struct oauth_reply reply;
	bool has_reply, closed;
	void (*notify)(void *data);
	void *data;
};

#define PAGE(status, title, text)                                                                                        \
	"HTTP/1.1 " status "\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"                         \
	"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n" \
	"<!doctype html><title>" title "</title><h1>" title "</h1><p>" text "</p>\n"

static const char page_done[] = PAGE("200 OK", "Signed in", "You can close this page and return to cadre.");
static const char page_refused[] = PAGE("200 OK", "Not signed in", "Access was refused. cadre shows the reason.");
static const char page_unexpected[] =
	PAGE("400 Bad Request", "Unexpected request", "cadre does not expect this request.");

static void drop_handle(struct oauth_callback *c)
{
	if (--c->handles)
		return;
	arena_release(&c->arena);
	free(c);
}

static void on_server_closed(uv_handle_t *handle)
{
	drop_handle(handle->data);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct conn *v = handle->data;
	struct oauth_callback *c = v->callback;

	list_drop(&c->conns, v);
	buf_release(&v->head);
	free(v);
	drop_handle(c);
}

static void conn_close(struct conn *v)
{
	if (!uv_is_closing((uv_handle_t *)&v->tcp))
		uv_close((uv_handle_t *)&v->tcp, on_conn_closed);
}

void oauth_callback_close(struct oauth_callback *c)
{
	if (!c)
		return;
	c->closed = true;
	uv_close((uv_handle_t *)&c->server, on_server_closed);
	for (struct conn *v = c->conns; v; v = v->next)
		if (!v->answered)
			conn_close(v);
}

static void on_written(uv_write_t *write, int status)
{
	conn_close(write->data);
}

static void conn_answer(struct conn *v)
{
	struct oauth_callback *c = v->callback;
	struct str line = buf_str(&v->head);
	struct str method = str_cut(&line, ' ');
	struct str query = line.p ? str_cut(&line, ' ') : STR("");
	struct str path = str_cut(&query, '?');
	AUTO_ARENA struct arena scratch = { 0 }; /* unexpected requests must not fill c->arena */
	const char *state = query.p ? oauth_form_get(&scratch, query, "state") : NULL;
	const char *page = page_unexpected;

	if (str_is(method, "GET") && str_is(path, "/callback") && state && !strcmp(state, c->state) && !c->has_reply &&
	    !c->closed) {
		c->reply = (struct oauth_reply){
			.code = oauth_form_get(&c->arena, query, "code"),
			.error = oauth_form_get(&c->arena, query, "error"),
			.description = oauth_form_get(&c->arena, query, "error_description"),
			.issuer = oauth_form_get(&c->arena, query, "iss"),
		};
		c->has_reply = true;
		c->notify(c->data);
		page = c->reply.code && !c->reply.error ? page_done : page_refused;
	}
	uv_buf_t bytes = uv_buf_init((char *)(uintptr_t)page, (unsigned)strlen(page));
	v->answered = true;
	v->write.data = v;
	uv_read_stop((uv_stream_t *)&v->tcp);
	if (uv_write(&v->write, (uv_stream_t *)&v->tcp, &bytes, 1, on_written) < 0)
		conn_close(v);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_room)
{
	struct conn *v = handle->data;

	*ret_room = uv_buf_init(v->room, sizeof v->room);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
	struct conn *v = stream->data;

	if (n > 0)
		buf_add(&v->head, room->base, (size_t)n);
	if (n < 0 || v->head.n > HEAD_LIMIT_BYTES)
		conn_close(v);
	else if (str_has(buf_str(&v->head), STR("\r\n\r\n")))
		conn_answer(v);
}

static void on_connection(uv_stream_t *server, int status)
{
	struct oauth_callback *c = server->data;

	if (status < 0)
		return;
	struct conn *v = xnew(struct conn, .callback = c);
	v->tcp.data = v;
	if (uv_tcp_init(server->loop, &v->tcp) < 0) {
		free(v);
		return;
	}
	bool crowded = c->handles > CONN_LIMIT; /* one is the server's */
	v->next = c->conns;
	c->conns = v;
	c->handles++;
	if (uv_accept(server, (uv_stream_t *)&v->tcp) < 0 || crowded ||
	    uv_read_start((uv_stream_t *)&v->tcp, on_room, on_bytes) < 0)
		conn_close(v);
}

int oauth_callback_open(struct loop *loop, unsigned port, const char *state, void (*notify)(void *data), void *data,
			struct oauth_callback **ret_callback, struct err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int length = sizeof at;
	struct oauth_callback *c = xnew(struct oauth_callback, .notify = notify, .data = data);

	c->state = arena_strdup(&c->arena, state);
	c->server.data = c;
	c->handles = 1;
	int rc = uv_tcp_init(loop_uv(loop), &c->server);
	if (rc < 0) {
		drop_handle(c);
		return err_set(err, ERR_IO, "cannot make a socket: %s", uv_strerror(rc));
	}
	rc = uv_tcp_bind(&c->server, (struct sockaddr *)&at, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&c->server, BACKLOG, on_connection);
	if (rc == 0)
		rc = uv_tcp_getsockname(&c->server, (struct sockaddr *)&at, &length);
	if (rc < 0) {
		oauth_callback_close(c);
		return err_set(err, ERR_IO, "cannot listen on 127.0.0.1:%u: %s", port, uv_strerror(rc));
	}
	c->port = ntohs(at.sin_port);
	*ret_callback = c;
	return 0;
}

unsigned oauth_callback_port(const struct oauth_callback *c)
{
	return c->port;
}

const struct oauth_reply *oauth_callback_reply(const struct oauth_callback *c)
{
	return c->has_reply ? &c->reply : NULL;
}
