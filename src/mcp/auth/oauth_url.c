/* SPDX-License-Identifier: MIT
 * oauth_url.c - which addresses authorisation goes to. */
#include "mcp/auth/oauth_url.h"
#include <arpa/inet.h>
#include "lib/io/url.h"

enum { LOOPBACK_NET = 127 };

/* Secrets go there without https: only what cannot be another machine. */
static bool is_loopback(const char *host)
{
	struct in_addr address;

	if (!strcmp(host, "localhost") || !strcmp(host, "[::1]"))
		return true;
	return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == LOOPBACK_NET;
}

static char *lower(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (char *c = copy; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c |= 0x20;
	return copy;
}

int oauth_url_parse(struct arena *arena, const char *text, struct oauth_url *ret_url, struct err *err)
{
	struct url u;

	if (url_parse(arena, text, &u, err) < 0)
		return -ERR_USAGE;
	if (u.has_user)
		return err_set(err, ERR_USAGE, "an address with a user name");
	if (u.has_fragment)
		return err_set(err, ERR_USAGE, "an address with a fragment");
	const char *host = lower(arena, u.host);
	*ret_url = (struct oauth_url){
		.origin = arena_printf(arena, "%s://%s%s%s", u.scheme, host, u.usual_port ? "" : ":",
				       u.usual_port ? "" : u.port),
		.path = u.path,
		.https = !strcmp(u.scheme, "https"),
		.loopback = is_loopback(host),
	};
	return 0;
}

int oauth_url_check(const char *text, bool loopback_allowed, const char *what, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_url url;

	if (oauth_url_parse(&arena, text, &url, err) < 0)
		return err_wrap(err, "%s %.100s", what, text);
	if (url.https || (url.loopback && loopback_allowed))
		return 0;
	return err_set(err, ERR_DENIED, "%s %.100s: only https is allowed for authorisation", what, text);
}

bool oauth_url_covers(const char *resource, const char *url)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_url outer;
	struct oauth_url inner;

	if (oauth_url_parse(&arena, resource, &outer, NULL) < 0 || oauth_url_parse(&arena, url, &inner, NULL) < 0 ||
	    strcmp(outer.origin, inner.origin) != 0)
		return false;
	size_t n = strlen(outer.path);
	if (outer.path[n - 1] == '/')
		n--;
	return !strncmp(inner.path, outer.path, n) && (inner.path[n] == '\0' || inner.path[n] == '/');
}
