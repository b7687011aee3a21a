/* SPDX-License-Identifier: MIT
 * oauth_http.h - HTTP for OAuth: allowed URLs, form bodies, and small requests with limits on time and size. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/io/http.h"

struct oauth_url {
	const char *origin; /* scheme, host in lower case, and the port if it is not the scheme's own */
	const char *path;   /* begins with '/' */
	bool https, loopback;
	bool near; /* this machine, its link, or nothing that is a server: by its name or number, https or not */
};

/* http and https only, without a user name or a fragment. Texts are in the arena. */
int oauth_url_parse(struct arena *arena, const char *text, struct oauth_url *ret_url, struct err *err);
/* https, or http on loopback if the caller allows it; else no host says that it is this machine or a metadata service, which a server
 * elsewhere would reach through us. what names the URL in the error: "token_endpoint". */
int oauth_url_check(const char *text, bool loopback_allowed, const char *what, struct err *err);
bool oauth_same_origin(const char *a, const char *b);
/* Whether the resource is the url or a parent of it: same origin, and a path prefix of whole components. */
bool oauth_url_covers(const char *resource, const char *url);

/* Queries and form bodies: a=b&c=d, percent-encoded. */

/* Appends name=value, with a '&' before it unless out is empty or ends with '?'. A value of NULL: nothing. */
void oauth_form_add(struct buf *out, const char *name, const char *value);
/* The first value of the name, decoded; NULL: missing, or contains a NUL. */
const char *oauth_form_get(struct arena *arena, struct str form, const char *name);

struct oauth_fetch;

enum oauth_redirects {
	OAUTH_STAY,     /* redirects are not followed */
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

/* notify comes once at the end, from the loop, or from inside if it cannot start: it may only record and kick. Returns
 * owned. */
struct oauth_fetch *oauth_fetch_start(struct loop *loop, struct http *http, const struct oauth_request *request,
				      void (*notify)(void *data), void *data);
void oauth_fetch_free(struct oauth_fetch *f); /* cancels; notify is not called; NULL is allowed */
bool oauth_fetch_over(const struct oauth_fetch *f);
/* After its end: 0 and the answer, borrowed from f; or an error. */
int oauth_fetch_answer(const struct oauth_fetch *f, int *ret_status, struct str *ret_body, struct err *err);
