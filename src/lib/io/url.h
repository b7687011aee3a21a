/* SPDX-License-Identifier: MIT
 * url.h - addresses of http and https, taken apart by curl so that we see them as it will. */
#pragma once
#include "lib/base/arena.h"

struct url {
	const char *text;          /* normal, without the part behind # */
	const char *scheme, *host; /* scheme in lower case, host as written */
	const char *port;          /* that it means, written or not */
	const char *path;          /* begins with '/' */
	bool usual_port;           /* the scheme's own */
	bool has_user, has_fragment;
};

enum { URL_LIMIT_BYTES = 8 << 10 };

/* Texts are in the arena. -ERR_USAGE: it is none. */
int url_parse(struct arena *a, const char *text, struct url *ret_url, struct err *err);
/* Where a link or a Location leads, seen from the address base. NULL: nowhere of http or https. */
const char *url_resolve(struct arena *a, const char *base, const char *link);
/* The same address on https, and on the port of that if it is on that of http. */
int url_to_https(struct arena *a, struct url *url, struct err *err);
