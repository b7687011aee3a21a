/* SPDX-License-Identifier: MIT
 * http_in.h - reads HTTP/1.1 requests out of a byte stream. A request that is complete in one feed is not copied; an
 * incomplete one is. */
#pragma once
#include "lib/base/buf.h"

enum http_in_state {
	HTTP_IN_HEAD,
	HTTP_IN_BODY,
	HTTP_IN_CHUNK_SIZE,
	HTTP_IN_CHUNK,
	HTTP_IN_CHUNK_END,
	HTTP_IN_TRAILER,
	HTTP_IN_DONE,
	HTTP_IN_BAD
};

/* Slices of the head, valid until http_in_next or the next feed */
struct http_request_head {
	struct str method, path, agent, version, beta, content_type, user_agent;
	bool has_key;       /* x-api-key or authorization */
	bool close, expect; /* connection: close; expect: 100-continue */
	bool chunked;
	uint64_t length;
};

/* Zeroed: ready */
struct http_in {
	enum http_in_state state;
	struct http_request_head head;
	struct str body; /* HTTP_IN_DONE: the whole body */
	int status;      /* HTTP_IN_BAD: what to answer before closing */
	const char *why;
	struct buf head_bytes, body_bytes; /* what had to be kept */
	uint64_t chunk_left;
};

/* Takes bytes until a request is complete (HTTP_IN_DONE) or cannot be one (HTTP_IN_BAD); returns how many it took. Those
 * must stay where they are until http_in_next(); the others must be fed again, with what came behind them. */
size_t http_in_feed(struct http_in *in, const char *p, size_t n);
void http_in_next(struct http_in *in); /* ready for the next request; frees the memory of this one */
