/* SPDX-License-Identifier: MIT
 * oauth_url.h - the parts of an address, and which addresses we go to. */
#pragma once
#include "lib/base/arena.h"

struct oauth_url {
	const char *origin; /* scheme, host in lower case, and the port if it is not the scheme's own */
	const char *path;   /* begins with '/' */
	bool https, loopback;
};

/* http and https only, without a user name or a fragment. Texts are in the arena. */
int oauth_url_parse(struct arena *arena, const char *text, struct oauth_url *ret_url, struct err *err);
/* https, or http on loopback if the caller allows that. what names the address in the error: "token_endpoint". */
int oauth_url_check(const char *text, bool loopback_allowed, const char *what, struct err *err);
/* The resource is the url or a parent of it: same origin, and its path is the beginning of the url's, whole parts only. */
bool oauth_url_covers(const char *resource, const char *url);
