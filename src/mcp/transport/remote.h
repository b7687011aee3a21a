/* SPDX-License-Identifier: MIT
 * remote.h - a remote server: common part of streamable HTTP and the older event stream. A remote owns its exchanges
 * (exchange.h), provides their headers, and handles authorisation, during which all exchanges wait. */
#pragma once
#include "mcp/auth/auth.h"
#include "mcp/transport/transport_int.h"

struct exchange;

/* headersHelper: the command that prints headers */
struct remote_helper {
	struct child *child; /* borrowed; NULL: does not run */
	struct buf out;
	struct timer timer;
	bool failed; /* see err */
	struct err err;
	struct arena arena;   /* of the headers */
	const char **headers; /* "Name: value", NULL-terminated; NULL: none */
};

struct remote {
	struct mcp_core core; /* first */
	char *url;            /* the server's, or its redirect */
	unsigned shard;
	struct exchange *exchanges, **exchanges_end; /* in the order of starting */
	struct exchange *opener;        /* all others wait until this one is accepted; borrowed, NULL: none */
	bool proven;                    /* the server has accepted a message */
	bool forgotten;                 /* the server has dropped the session: no new exchange */
	struct buf session_id, version; /* for the headers; empty: none */

	struct remote_helper helper;
	struct mcp_auth *auth;
	bool authorising, refreshing; /* a challenge is running; it is a refresh */
	bool refresh_failed;          /* authorise only after a 401 */
	unsigned auth_round;          /* number of authorisations */
	struct err auth_error;        /* of the last challenge; kind 0: none */
};

int remote_start(struct remote *r, struct err *err);
/* Whether this exchange may send now. Otherwise it is kicked when it should call again. */
bool remote_lets_go(struct remote *r, const struct exchange *x);
void remote_kick(struct remote *r); /* all exchanges look again whether they may send */
/* Starts authorisation after a 401 or 403 for x. x waits with remote_lets_go; then r->auth_error has the result. */
void remote_challenge(struct remote *r, const struct exchange *x);
/* All headers of the next transfer of x, NULL-terminated; in the arena or borrowed from r and its server. */
const char *const *remote_headers(struct remote *r, const struct exchange *x, struct arena *arena);

/* Closes the connection; err NULL: on request. Running exchanges are dropped. */
void remote_close(struct remote *r, const struct err *err);
void remote_settle(struct remote *r); /* after the end of something: ends the transport if it was the last */
void remote_release(struct remote *r);
