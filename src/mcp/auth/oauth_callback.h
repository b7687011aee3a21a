/* SPDX-License-Identifier: MIT
 * oauth_callback.h - the redirect URI on this machine, http://localhost:PORT/callback. It accepts one answer, the one
 * with our state; all other requests get a page without effect. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/loop.h"

struct oauth_callback;

/* NULL: not given */
struct oauth_reply {
	const char *code, *error, *description, *issuer;
};

/* Listens on 127.0.0.1. port 0: any. notify comes from the loop, once, after the answer. state is copied. */
int oauth_callback_open(struct loop *loop, unsigned port, const char *state, void (*notify)(void *data), void *data,
			struct oauth_callback **ret_callback, struct err *err);
/* Accepts no more requests; pages being sent are completed. notify is not called. NULL is allowed. */
void oauth_callback_close(struct oauth_callback *c);
unsigned oauth_callback_port(const struct oauth_callback *c);
const struct oauth_reply *oauth_callback_reply(
	const struct oauth_callback *c); /* NULL: not yet; borrowed until close */
