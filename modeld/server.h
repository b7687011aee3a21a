/* SPDX-License-Identifier: MIT
 * server.h - an HTTP/1.1 server on loopback that gives each request to the engine and plays its reply. */
#pragma once
#include "lib/io/loop.h"
#include "request_log.h"
#include "core/scenario/engine.h"
#include "tls.h"

struct server;

struct server_options {
	unsigned port;           /* 0: any free one */
	struct engine *engine;   /* borrowed, like the two below */
	struct tls_server *tls;  /* NULL: plain HTTP */
	struct request_log *log; /* NULL: none */
};

int server_start(struct loop *loop, const struct server_options *options, struct server **ret_server, struct err *err);
unsigned server_port(const struct server *s);
void server_stop(struct server *s); /* closes the listener and every connection; the loop ends when all is closed */
void server_free(struct server *s); /* after the loop has ended */
