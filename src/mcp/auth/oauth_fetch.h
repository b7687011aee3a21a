/* SPDX-License-Identifier: MIT
 * oauth_fetch.h - one small HTTP request, its whole answer in memory, with limits on time and size. */
#pragma once
#include "lib/base/buf.h"
#include "lib/io/http.h"

struct oauth_fetch;

enum oauth_redirects {
	OAUTH_STAY,     /* a redirect is the answer */
	OAUTH_ORIGIN,   /* followed on the same scheme, host and port */
	OAUTH_LOOPBACK, /* followed while it stays on loopback */
};

/* Borrowed until oauth_fetch_start returns */
struct oauth_request {
	const char *url;
	const char *authorization; /* a whole header; NULL: none */
	const char *body_type;     /* Content-Type of the body; NULL: a GET */
	struct str body;
	enum oauth_redirects redirects;
};

/* notify comes once, when it is over; from the loop, or from inside when it cannot even start: it may only record and kick.
 * Returns owned. */
struct oauth_fetch *oauth_fetch_start(struct loop *loop, struct http *http, const struct oauth_request *request,
				      void (*notify)(void *data), void *data);
void oauth_fetch_free(struct oauth_fetch *f); /* cancels; notify is not called any more; NULL is allowed */
bool oauth_fetch_over(const struct oauth_fetch *f);
/* After its end: 0 and the answer, borrowed from f; or why there is none. */
int oauth_fetch_answer(const struct oauth_fetch *f, int *ret_status, struct str *ret_body, struct err *err);
