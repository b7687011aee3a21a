/* SPDX-License-Identifier: MIT
 * exchange.h - one message sent over HTTP, or one event stream, as a sequence of transfers: repeated after
 * authorisation, at a redirect, or to resume a broken stream.
 *
 *     PREPARE --(remote lets it go)--> RUN --(transfer over)--> end() of its class, which frees it or sends it to PAUSE
 *        ^                              |                                                                          |
 *        +---- 401, 403, moved ---------+                                                                          |
 *        +------------------------------------------------(timer)-------------------------------------------------+ */
#pragma once
#include "lib/io/sse.h"
#include "mcp/transport/remote.h"

struct exchange;

struct exchange_class {
	void (*head)(struct exchange *x); /* status and headers received; may be NULL */
	/* An event of the stream, or the whole body of a 2xx (name empty). NULL: ignored. */
	void (*event)(struct exchange *x, struct str name, struct str payload);
	/* The end of a transfer; see status, error, answered and denied. Must call exchange_free, exchange_again, or
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
