/* SPDX-License-Identifier: MIT
 * http_server.h - a server on loopback for the HTTP tests: one thread a connection, each runs a function of
 * the test that says in plain blocking steps what the server does. */
#pragma once
#include <openssl/ssl.h>
#include "lib/base/buf.h"

struct server;

/* One connection, inside its thread */
struct peer {
	struct server *server;
	void *data;      /* of server_start */
	unsigned number; /* 1 for the first connection */
	int fd;
	SSL *ssl;        /* NULL: plain text */
	struct buf head; /* of the last request, with the blank line */
	struct buf body;
	struct buf rest; /* bytes behind it */
};

typedef void serve_fn(struct peer *p);

/* Returns owned; keeps a reference on tls, which may be NULL. */
struct server *server_start(serve_fn *serve, void *data, SSL_CTX *tls);
const char *server_url(const struct server *s); /* http://127.0.0.1:PORT/, or https://localhost:PORT/ */
unsigned server_port(const struct server *s);
unsigned server_connections(struct server *s); /* accepted so far */
void server_stop(struct server *s);            /* waits for its peers: free the client before */

bool peer_request(struct peer *p); /* reads a whole request; false: the client has gone */
void peer_send(struct peer *p, const char *text);
void peer_send_n(struct peer *p, const char *bytes, size_t n);
void peer_answer(struct peer *p, const char *body); /* 200 with Content-Length */
void peer_serve_hello(struct peer *p);              /* a serve_fn: "hello" to every request */
void peer_wait_gone(struct peer *p);                /* reads until the client closes */
void peer_reset(struct peer *p);                    /* closes with RST */

/* A self-signed certificate for the name, valid now; both are owned by the caller. */
void server_make_certificate(const char *name, X509 **ret_cert, EVP_PKEY **ret_key);
SSL_CTX *server_tls_new(X509 *cert, EVP_PKEY *key);
