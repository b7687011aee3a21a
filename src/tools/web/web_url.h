/* SPDX-License-Identifier: MIT
 * web_url.h - addresses of pages. */
#pragma once
#include "lib/base/arena.h"

struct web_url {
	const char *text; /* normal, without the part behind # */
	const char *host; /* lower case, without a dot at the end */
	const char *port;
	bool https;
};

/* http and https, without a user name. Texts are in the arena. A host that programs could read differently (an escape, an
 * address in a form of its own, letters outside ASCII) is refused: what rules say about it would mean nothing. */
int web_url_parse(struct arena *a, struct str text, struct web_url *ret_url, struct err *err);
void web_url_upgrade(struct arena *a,
		     struct web_url *url); /* https in place of http, on its own port if there is one */
/* A host that is on this machine or its network by its name or number alone. */
bool web_url_is_local(const struct web_url *url);
