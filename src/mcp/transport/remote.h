/* SPDX-License-Identifier: MIT
 * remote.h - a server behind an address: what streamable HTTP and the older event stream have in common. A remote owns its
 * exchanges (exchange.h), gives each of them its headers, and gets the authorisation that the server asks for: all
 * exchanges wait while that goes on. */
#pragma once
#include "mcp/auth/auth.h"
#include "mcp/transport/transport_int.h"

struct exchange;

/* headersHelper: the command that prints headers */
struct remote_helper {
	struct child *child; /* borrowed; NULL: does not run */
	struct buf out;
	struct timer timer;
	bool failed; /* err says why */
	struct err err;
	struct arena arena;   /* of the headers */
	const char **headers; /* "Name: value", NULL-terminated; NULL: none */
};

struct remote {
	struct mcp_core core; /* first */
	char *url;            /* the server's, or where it has moved to */
	unsigned shard;
	struct exchange *exchanges, **exchanges_end; /* in the order of starting */
	struct exchange *opener;        /* nothing else starts before this one was taken; borrowed, NULL: none */
	bool proven;                    /* the server has taken a message */
	bool forgotten;                 /* the server does not know the session any more: nothing else starts */
	struct buf session_id, version; /* for the headers; empty: none */

	struct remote_helper helper;
	struct mcp_auth *auth;
	bool authorising, refreshing; /* a challenge runs; it is a refresh */
	bool refresh_failed;          /* the server will have to say 401 first */
	unsigned auth_round;          /* counts the authorisations that we had */
	struct err auth_error;        /* of the last challenge; kind 0: none */
};

int remote_start(struct remote *r, struct err *err);
/* May this exchange send now? Otherwise it is kicked when it is worth asking again. */
bool remote_lets_go(struct remote *r, const struct exchange *x);
void remote_opener_taken(struct remote *r);
/* The server answered x with 401 or 403: gets what it wants. x waits by asking remote_lets_go; then r->auth_error says
 * whether it can go on. */
void remote_challenge(struct remote *r, const struct exchange *x);
/* All headers of the next transfer of x, NULL-terminated; in the arena or borrowed from r and its server. */
const char *const *remote_headers(struct remote *r, const struct exchange *x, struct arena *arena);

/* The connection is over; err NULL: on request. What runs is dropped. */
void remote_close(struct remote *r, const struct err *err);
void remote_settle(struct remote *r); /* something has ended: was it the last? */
void remote_release(struct remote *r);
