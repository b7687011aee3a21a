/* SPDX-License-Identifier: MIT
 * server.c - listening and accepting. */
#include "server.h"
#include <arpa/inet.h>
#include "conn.h"

enum { BACKLOG = 4096 };

static void on_connection(uv_stream_t *listener, int status)
{
	struct server *s = listener->data;

	if (status < 0)
		return;
	struct conn *c = conn_new(s);
	if (uv_accept(listener, conn_stream(c)) < 0)
		conn_close(c);
	else
		conn_start(c);
}

static int listen_on(struct server *s, unsigned port, struct err *err)
{
	struct sockaddr_in address;
	int size = sizeof address;
	int rc = uv_ip4_addr("127.0.0.1", (int)port, &address);

	if (rc == 0)
		rc = uv_tcp_bind(&s->listener, (const struct sockaddr *)&address, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
	if (rc == 0)
		rc = uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &size);
	if (rc < 0)
		return err_set(err, ERR_IO, "cannot listen on 127.0.0.1:%u: %s", port, uv_strerror(rc));
	s->port = ntohs(address.sin_port);
	return 0;
}

int server_start(struct loop *loop, const struct server_options *options, struct server **ret_server, struct err *err)
{
	struct server *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->options = *options;
	s->start_ms = loop_now_ms(loop);
	(void)uv_tcp_init(loop_uv(loop), &s->listener);
	s->listener.data = s;
	int rc = listen_on(s, options->port, err);
	if (rc < 0) {
		server_stop(s);
		loop_run(loop);
		server_free(s);
		return rc;
	}
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
		next = conn_next(c);
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
