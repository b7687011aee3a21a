/* SPDX-License-Identifier: MIT
 * remote.h - a remote server: common part of streamable HTTP and the older event stream. A remote owns its exchanges
 * (below), provides their headers, and handles authorisation, during which all exchanges wait. */
#pragma once
#include "lib/io/capture.h"
#include "mcp/auth/auth.h"
#include "mcp/transport/transport_int.h"
#include "lib/io/sse.h"

/* headersHelper: the command that prints headers */
struct remote_helper {
	struct capture run;
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

/* One message sent over HTTP, or one event stream, as a sequence of transfers: repeated after
 * authorisation, at a redirect, or to resume a broken stream.
 *
 *     PREPARE --(remote lets it go)--> RUN --(transfer over)--> end() of its class, which frees it or sends it to PAUSE
 *        ^                              |                                                                          |
 *        +---- 401, 403, moved ---------+                                                                          |
 *        +------------------------------------------------(timer)-------------------------------------------------+ */

struct exchange_class {
	void (*head)(struct exchange *x); /* status and headers received; may be NULL */
	/* An event of the stream, or the whole body of a 2xx (name empty). NULL: ignored. */
	void (*event)(struct exchange *x, struct str name, struct str payload);
	/* The end of a transfer; see status, error, answered and denied. Must call exchange_free(), enter EXCHANGE_PAUSE, or
	 * close the remote. */
	void (*end)(struct exchange *x);
};

enum exchange_state { EXCHANGE_PREPARE, EXCHANGE_RUN, EXCHANGE_PAUSE };

struct exchange {
	struct remote *remote; /* borrowed */
	const struct exchange_class *class;
	struct exchange *next, **prev;
	int64_t id;         /* of the request that it carries, or 0 */
	const char *method; /* a literal */
	char *url;
	struct buf body;
	uint64_t first_byte_ms;
	bool is_last; /* DELETE of the session: sent although the transport is closing, without authorisation */
	enum exchange_state state;
	struct kick kick;
	struct timer timer;
	bool dropped; /* abandoned: freed when nothing runs */

	/* of the current transfer */
	struct http_req *req;
	bool ended, timed_out, is_stream;
	int status; /* 0: no answer */
	enum http_error error;
	char text[240];       /* explains error */
	struct buf answer;    /* a body that is not a stream */
	struct buf challenge; /* WWW-Authenticate */
	struct buf location, session_id;
	struct sse sse;
	bool has_events;
	unsigned auth_round; /* of the remote at the start */

	/* of all of them */
	bool answered;     /* the answer to id was received */
	struct err denied; /* kind 0: no. Otherwise authorisation failed */
	unsigned challenges, moves;
	unsigned fruitless; /* transfers without data in a row; counted by the class */
	struct buf last_id; /* resumes a broken stream */
	uint64_t retry_ms;
	uint64_t started_ms;
};

/* Owned by r, already started. method: "POST" (takes body's bytes), "GET" or "DELETE", a literal. */
struct exchange *exchange_start(struct remote *r, const struct exchange_class *class, const char *method,
				const char *url, int64_t id, struct str body);
void exchange_answered(struct exchange *x); /* limits the time for further events */
void exchange_drop(struct exchange *x);
void exchange_free(struct exchange *x); /* only from end() */

static inline bool exchange_is_ok(const struct exchange *x)
{
	return !x->error && x->status >= 200 && x->status < 300;
}
/* The server can no longer be reached. */
static inline bool exchange_is_gone(const struct exchange *x)
{
	return x->error == HTTP_REFUSED || x->error == HTTP_RESOLVE;
}
void exchange_describe(const struct exchange *x, struct err *ret_err); /* why it did not work */
