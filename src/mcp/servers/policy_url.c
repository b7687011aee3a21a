/* SPDX-License-Identifier: MIT
 * policy_url.c - addresses and patterns. The address is taken apart by the library that will connect to it, so that both see
 * the same host. */
#include <curl/curl.h>
#include "lib/base/arena.h"
#include "lib/match/wildcard.h"
#include "mcp/servers/policy_int.h"

struct parts {
	struct str scheme, authority, path;
};

static struct str lower(struct arena *a, struct str s)
{
	char *copy = arena_dup(a, s.p, s.n);

	for (size_t i = 0; i < s.n; i++)
		if (copy[i] >= 'A' && copy[i] <= 'Z')
			copy[i] = (char)(copy[i] + 'a' - 'A');
	return (struct str){ copy, s.n };
}

/* NULL: there is no such part. */
static const char *get_part(CURLU *url, CURLUPart part, unsigned flags, struct arena *a)
{
	char *text = NULL;

	if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
		return NULL;
	const char *copy = arena_strdup(a, text);
	curl_free(text);
	return copy;
}

static bool split_handle(CURLU *handle, struct arena *a, struct parts *ret)
{
	const char *scheme = get_part(handle, CURLUPART_SCHEME, 0, a);
	const char *host = get_part(handle, CURLUPART_HOST, 0, a);
	const char *port = get_part(handle, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT, a);
	const char *path = get_part(handle, CURLUPART_PATH, 0, a);
	const char *query = get_part(handle, CURLUPART_QUERY, 0, a);

	if (!scheme || !host)
		return false;
	struct str name = str_from(host);
	if (str_ends(name, STR(".")))
		name.n--;
	const char *authority = arena_printf(a, STR_FMT "%s%s", STR_ARG(name), port ? ":" : "", port ? port : "");
	*ret = (struct parts){
		.scheme = lower(a, str_from(scheme)),
		.authority = lower(a, str_from(authority)),
		.path = str_from(arena_printf(a, "%s%s%s", path ? path : "/", query ? "?" : "", query ? query : "")),
	};
	return true;
}

static bool split_url(struct arena *a, const char *url, struct parts *ret)
{
	CURLU *handle = curl_url();

	if (!handle)
		base_oom(0);
	bool good = curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK && split_handle(handle, a, ret);
	curl_url_cleanup(handle);
	return good;
}

static struct str without_usual_port(struct str authority, struct str scheme)
{
	struct str port = str_is(scheme, "https") ? STR(":443") : str_is(scheme, "http") ? STR(":80") : STR("");

	if (port.n && str_ends(authority, port))
		authority.n -= port.n;
	return authority;
}

static bool split_pattern(struct arena *a, struct str pattern, struct parts *ret)
{
	const char *mark = memmem(pattern.p, pattern.n, "://", 3);

	if (!mark)
		return false;
	struct str scheme = lower(a, (struct str){ pattern.p, (size_t)(mark - pattern.p) });
	struct str rest = { mark + 3, pattern.n - scheme.n - 3 };
	size_t n = 0;
	while (n < rest.n && !char_in(rest.p[n], "/?#"))
		n++;
	const char *user = memrchr(rest.p, '@', n);
	size_t skip = user ? (size_t)(user - rest.p) + 1 : 0;
	struct str authority = lower(a, (struct str){ rest.p + skip, n - skip });
	*ret = (struct parts){ scheme, without_usual_port(authority, scheme), { rest.p + n, rest.n - n } };
	return true;
}

static bool path_fits(const struct parts *pattern, struct str path)
{
	if (pattern->path.n)
		return wildcard_match(pattern->path, path);
	return str_ends(pattern->authority, STR("*")) || str_is(path, "/");
}

static struct str join(struct arena *a, const struct parts *u)
{
	return str_from(arena_printf(a, STR_FMT "://" STR_FMT STR_FMT, STR_ARG(u->scheme), STR_ARG(u->authority),
				     STR_ARG(u->path)));
}

bool policy_url_fits(struct str pattern, const char *url)
{
	AUTO_ARENA struct arena a = { 0 };
	struct parts p;
	struct parts u;

	if (!split_url(&a, url, &u))
		return wildcard_match(pattern, str_from(url));
	if (!split_pattern(&a, pattern, &p))
		return wildcard_match(pattern, str_from(url)) || wildcard_match(pattern, join(&a, &u));
	return wildcard_match(p.scheme, u.scheme) && wildcard_match(p.authority, u.authority) && path_fits(&p, u.path);
}
