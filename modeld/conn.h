/* SPDX-License-Identifier: MIT
 * conn.h - one connection: requests come in one after the other, each is answered before the next is looked at. */
#pragma once
#include "http_in.h"
#include "server.h"

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

struct conn *conn_new(struct server *s);      /* in s->conns; its tcp handle is initialised */
struct conn *conn_next(const struct conn *c); /* in the list; NULL at its end */
uv_stream_t *conn_stream(struct conn *c);
void conn_start(struct conn *c); /* begins to read */
void conn_close(struct conn *c); /* may be called twice; frees when libuv has let go */
