/* SPDX-License-Identifier: MIT
 * oauth_callback.h - the address on this machine to which the browser comes back: http://localhost:PORT/callback. It takes one
 * answer, the one that carries our state; everything else gets a page and changes nothing. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/loop.h"

struct oauth_callback;

/* NULL: not said */
struct oauth_reply {
	const char *code, *error, *description, *issuer;
};

/* Listens on 127.0.0.1. port 0: any. notify comes from the loop, once, when the answer is there. state is copied. */
int oauth_callback_open(struct loop *loop, unsigned port, const char *state, void (*notify)(void *data), void *data,
			struct oauth_callback **ret_callback, struct err *err);
/* Nobody is answered any more but those whose page is on its way; notify is not called any more. NULL is allowed. */
void oauth_callback_close(struct oauth_callback *c);
unsigned oauth_callback_port(const struct oauth_callback *c);
const struct oauth_reply *oauth_callback_reply(
	const struct oauth_callback *c); /* NULL: not yet; borrowed until close */
