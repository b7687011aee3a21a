/* SPDX-License-Identifier: MIT
 * tls.h - TLS between a socket and the HTTP parser, over memory: bytes in, bytes out, no descriptor. */
#pragma once
#include "lib/base/buf.h"

struct tls_server; /* certificate and key */
struct tls;        /* one connection */

int tls_server_new(const char *cert_file, const char *key_file, struct tls_server **ret_server, struct err *err);
void tls_server_free(struct tls_server *s);

struct tls *tls_new(struct tls_server *s);
void tls_free(struct tls *t);
/* Takes bytes of the peer; appends what it said to plain, and what must be sent back (handshake) to out. -1: it does not
 * speak TLS or has ended it. */
int tls_open(struct tls *t, const char *p, size_t n, struct buf *plain, struct buf *out);
int tls_seal(struct tls *t, struct str plain, struct buf *out); /* appends; -1 on failure */
