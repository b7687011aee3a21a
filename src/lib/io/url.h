/* SPDX-License-Identifier: MIT
 * url.h - http and https URLs, parsed by curl, so that checks see what curl will use. */
#pragma once
#include "lib/base/arena.h"

struct url {
	const char *text;          /* normalised, without the fragment */
	const char *scheme, *host; /* scheme in lower case, host as written */
	const char *port;          /* explicit or default */
	const char *path;          /* begins with '/' */
	bool usual_port;           /* the default of the scheme */
	bool has_user, has_fragment;
};

enum { URL_LIMIT_BYTES = 8 << 10 };

/* Texts are in the arena. -ERR_USAGE: not a URL. */
int url_parse(struct arena *a, const char *text, struct url *ret_url, struct err *err);
bool url_is_loopback(const char *text); /* its host is a number or a name that no other machine has */
/* Resolves a link or a Location against base. NULL: not http or https. */
const char *url_resolve(struct arena *a, const char *base, const char *link);
/* The same URL with https; port 80 becomes 443. */
int url_to_https(struct arena *a, struct url *url, struct err *err);
