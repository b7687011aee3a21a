/* SPDX-License-Identifier: MIT
 * host_rule.c - hosts of addresses, and patterns for them. */
#include "guard/permission/host_rule.h"
#include <ctype.h>
#include "lib/match/wildcard.h"

struct str host_normal(struct arena *a, struct str host)
{
	host = str_trim(host);
	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	char *copy = arena_dup(a, host.p, host.n);
	for (size_t i = 0; i < host.n; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	return (struct str){ copy, host.n };
}

static bool match_labels(struct str pattern, struct str host)
{
	while (pattern.p && host.p) {
		struct str label = str_cut(&host, '.');
		struct str wanted = str_cut(&pattern, '.');
		if (!label.n || !wildcard_match(wanted, label))
			return false;
	}
	return !pattern.p && !host.p;
}

bool host_rule_match(struct str pattern, struct str host)
{
	if (!host.n)
		return false;
	if (str_is(pattern, "*"))
		return true;
	if (!str_starts(pattern, STR("*.")))
		return match_labels(pattern, host);
	struct str tail = { pattern.p + 2, pattern.n - 2 };
	for (size_t i = 1; i < host.n; i++)
		if (host.p[i - 1] == '.' && match_labels(tail, (struct str){ host.p + i, host.n - i }))
			return true;
	return false;
}

static bool is_host_char(char c)
{
	return c && (isalnum((unsigned char)c) || char_in(c, "-._:[]") || (c & 0x80));
}

struct str host_of_url(struct arena *a, struct str url)
{
	struct str rest = str_trim(url);
	const char *scheme = rest.n ? memmem(rest.p, rest.n, "://", 3) : NULL;

	if (!scheme)
		return STR("");
	rest = (struct str){ scheme + 3, rest.n - (size_t)(scheme + 3 - rest.p) };
	size_t n = 0;
	while (n < rest.n && is_host_char(rest.p[n]))
		n++;
	struct str host = { rest.p, n };
	/* A user name, an escape or a backslash: programs disagree about which part is the host. */
	if (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
		return STR("");
	const char *port = host.n ? memrchr(host.p, ':', host.n) : NULL;
	if (port && !memchr(port, ']', (size_t)(host.p + host.n - port)))
		host.n = (size_t)(port - host.p);
	return host_normal(a, host);
}
