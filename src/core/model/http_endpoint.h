/* SPDX-License-Identifier: MIT
 * http_endpoint.h - the HTTP part of an endpoint: client, URL and headers. */
#pragma once
#include "lib/base/arena.h"
#include "core/model/provider.h"

enum { USUAL_STALL_MS = 300000, LOCAL_STALL_MS = 600000 }; /* a local model may still load */
enum { LARGEST_ANSWER = 64 << 20, LARGEST_ERROR_BODY = 64 << 10 };

struct http_endpoint {
	struct http *client;
	struct arena arena;     /* holds the texts */
	const char *base, *url; /* base: without a query and slashes at its end */
	const char **headers;   /* of each request, NULL-terminated; the list is owned, the texts are in the arena */
	size_t header_count, header_cap;
	uint64_t stall_ms;
};

/* base may end with slashes; path begins with one. extra_headers of the options are added. */
int http_endpoint_open(struct http_endpoint *p, const struct endpoint_options *o, const char *base, const char *path,
		       struct err *err);
void http_endpoint_close(struct http_endpoint *p);
void http_endpoint_header(struct http_endpoint *p, const char *name, const char *value);

/* Sends the body, which is read with call->transfer as its data. Handlers find the call with http_data(). url: NULL for
 * that of the endpoint. own: headers of this request besides agent, NULL-terminated; may be NULL. */
int http_endpoint_post(struct http_endpoint *p, struct model_call *call, const char *url, const struct http_body *body,
		       const char *const *own, const struct http_handlers *handlers, struct http_req **ret_transfer,
		       struct err *err);

/* Handlers for all providers */
void http_endpoint_on_head(struct http_req *r, int status);
void http_endpoint_on_header(struct http_req *r, struct str name, struct str value);
enum failure_kind http_endpoint_failure(enum http_error error);
/* Reports bad keys and URLs before the first request: no retry can fix them. */
int http_endpoint_check(const struct provider *p, const struct endpoint_options *o, struct err *err);
