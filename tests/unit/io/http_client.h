/* SPDX-License-Identifier: MIT
 * http_client.h - a request of a test and all that was reported about it. */
#pragma once
#include "lib/base/buf.h"
#include "lib/io/http_int.h"

struct fetch {
	struct http_req *req;
	int heads, dones, status;
	struct buf headers; /* "name=value;" of each */
	struct buf pieces;  /* "[bytes]" of each on_data */
	enum http_error error;
	char text[256];
	bool (*on_data)(struct fetch *f); /* what the test does when data comes; NULL: go on */
	void (*on_done)(struct fetch *f);
	struct loop *loop;
	void *data;
};

struct http_request fetch_get(const char *url);
/* Starts f with the shared handlers; the request must be valid. */
void fetch_start(struct fetch *f, struct http *h, const struct http_request *request);
void fetch_release(struct fetch *f);

/* Starts f with a client of its own and runs the loop to the end. */
void fetch_once(struct fetch *f, const struct http_request *request, const struct http_options *options);
