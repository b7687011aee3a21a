/* SPDX-License-Identifier: MIT
 * http_place.h - HTTP endpoint shared by providers: client, URL and headers. */
#pragma once
#include "lib/base/arena.h"
#include "core/model/provider.h"

enum { USUAL_STALL_MS = 300000, LOCAL_STALL_MS = 600000 }; /* a local model may still load */
enum { LARGEST_ANSWER = 64 << 20, LARGEST_ERROR_BODY = 64 << 10 };

struct http_place {
	struct http *http;
	struct arena arena; /* holds the texts */
	const char *url;
	const char *
		*headers; /* sent with each request, NULL-terminated; the list is owned, the texts are in the arena */
	size_t header_count, header_cap;
	uint64_t stall_ms;
};

/* base may end with slashes; path begins with one. extra_headers of the options are added. */
int http_place_open(struct http_place *p, const struct endpoint_options *o, const char *base, const char *path,
		    struct err *err);
void http_place_close(struct http_place *p);
void http_place_header(struct http_place *p, const char *name, const char *value);

/* Handlers find body_data with http_data(). url: NULL for that of the place. own: headers of this request besides agent, NULL-terminated; may be NULL. */
int http_place_post(struct http_place *p, struct model_call *call, const char *url, const struct http_body *body,
		    void *body_data, const char *const *own, const struct http_handlers *handlers,
		    struct http_req **ret_transfer, struct err *err);

enum failure_kind http_place_failure(enum http_error error);
/* Reports errors that no retry can fix before the first request; variables name the source of the values. */
int http_place_check_url(const char *url, const char *variable, struct err *err); /* url may be NULL */
int http_place_check_key(const char *key, const char *variable, struct err *err); /* key may be NULL */
