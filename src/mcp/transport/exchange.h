/* SPDX-License-Identifier: MIT
 * exchange.h - one message on its way over HTTP, or one stream that is listened to; a row of transfers until it is done:
 * again with an authorisation, again at another address, again to resume a stream that was cut.
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
	void (*head)(struct exchange *x); /* status and headers are there; may be NULL */
	/* An event of the stream, or a whole body that came with 2xx (name empty). */
	void (*event)(struct exchange *x, struct str name, struct str payload);
	/* A transfer is over; status, error, answered and denied say how. Ends with exchange_free, exchange_again, or the close
	 * of the whole remote. */
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
	size_t body_sent;
	uint64_t first_byte_ms;
	bool is_last; /* ends the session: goes out although the transport is closing, asks for nothing */
	enum exchange_state state;
	struct kick kick;
	struct timer timer;
	bool dropped; /* nobody wants it: freed as soon as nothing runs */

	/* of the current transfer */
	struct http_req *req;
	bool ended, timed_out, is_stream;
	int status; /* 0: no answer */
	enum http_error error;
	char text[240];       /* explains error */
	struct buf answer;    /* a body that is no stream */
	struct buf challenge; /* WWW-Authenticate */
	struct buf location, session_id;
	struct sse sse;
	bool has_events;
	unsigned auth_round; /* the remote's at its start */

	/* of all of them */
	bool answered;     /* the class has seen the answer to id */
	struct err denied; /* kind 0: not. Otherwise what the server wants cannot be had */
	unsigned challenges, moves;
	unsigned fruitless; /* transfers in a row that brought nothing; counted by the class */
	struct buf last_id; /* where a stream that was cut goes on */
	uint64_t retry_ms;
	uint64_t started_ms;
};

/* Returns owned by r, already on its way. method: "POST" (takes body's bytes), "GET" or "DELETE", a literal. */
struct exchange *exchange_start(struct remote *r, const struct exchange_class *class, const char *method,
				const char *url, int64_t id, struct str body);
void exchange_again(struct exchange *x, uint64_t after_ms); /* as a GET that goes on behind last_id */
void exchange_answered(struct exchange *x);                 /* what else the server sends has little time left */
void exchange_drop(struct exchange *x);
void exchange_free(struct exchange *x); /* only from end() */

static inline bool exchange_is_ok(const struct exchange *x)
{
	return !x->error && x->status >= 200 && x->status < 300;
}
/* Nobody listens at the address any more. */
static inline bool exchange_is_gone(const struct exchange *x)
{
	return x->error == HTTP_REFUSED || x->error == HTTP_RESOLVE;
}
void exchange_describe(const struct exchange *x, struct err *ret_err); /* why it did not work */
