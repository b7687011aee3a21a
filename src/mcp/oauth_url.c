/* SPDX-License-Identifier: MIT
 * oauth_url.c - addresses, taken apart by curl so that we see them as it will. */
#include "mcp/oauth_url.h"
#include <arpa/inet.h>
#include <curl/curl.h>

enum { URL_LIMIT_BYTES = 8 << 10, LOOPBACK_NET = 127 };

static void free_urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}
#define AUTO_URL CLEANUP(free_urlp)

static CURLU *new_url(void)
{
	CURLU *u = curl_url();

	if (!u)
		base_oom(0);
	return u;
}

/* NULL: the address does not have it. */
static const char *part(struct arena *arena, CURLU *u, CURLUPart which, unsigned flags)
{
	char *text = NULL;

	if (curl_url_get(u, which, &text, flags) != CURLUE_OK)
		return NULL;
	const char *copy = arena_strdup(arena, text);
	curl_free(text);
	return copy;
}

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
	AUTO_URL CURLU *u = new_url();

	if (strlen(text) > URL_LIMIT_BYTES || curl_url_set(u, CURLUPART_URL, text, 0) != CURLUE_OK)
		return err_set(err, ERR_USAGE, "not an address");
	const char *scheme = part(arena, u, CURLUPART_SCHEME, 0);
	const char *host = part(arena, u, CURLUPART_HOST, 0);
	const char *path = part(arena, u, CURLUPART_PATH, 0);
	if (!scheme || !host || !path || (strcmp(scheme, "http") && strcmp(scheme, "https")))
		return err_set(err, ERR_USAGE, "not an http or https address");
	if (part(arena, u, CURLUPART_USER, 0) || part(arena, u, CURLUPART_PASSWORD, 0))
		return err_set(err, ERR_USAGE, "an address with a user name");
	if (part(arena, u, CURLUPART_FRAGMENT, 0))
		return err_set(err, ERR_USAGE, "an address with a fragment");
	const char *port = part(arena, u, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
	host = lower(arena, host);
	*ret_url = (struct oauth_url){
		.origin = arena_printf(arena, "%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : ""),
		.path = path,
		.https = !strcmp(scheme, "https"),
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

const char *oauth_url_resolve(struct arena *arena, const char *base, const char *location)
{
	AUTO_URL CURLU *u = new_url();

	if (strlen(location) > URL_LIMIT_BYTES || curl_url_set(u, CURLUPART_URL, base, 0) != CURLUE_OK ||
	    curl_url_set(u, CURLUPART_URL, location, 0) != CURLUE_OK)
		return NULL;
	return part(arena, u, CURLUPART_URL, 0);
}
