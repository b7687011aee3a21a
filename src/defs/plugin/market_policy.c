/* SPDX-License-Identifier: MIT
 * market_policy.c - sources against the two lists of managed settings. */
#include "defs/plugin/market_policy.h"
#include <regex.h>

/* The host of "https://user@HOST:1/x" or "user@HOST:x". */
static struct str host_of(struct str url)
{
	const char *scheme = url.n ? memmem(url.p, url.n, "://", 3) : NULL;
	struct str rest = scheme ? (struct str){ scheme + 3, url.n - (size_t)(scheme + 3 - url.p) } : url;
	struct str host = str_cut(&rest, '/');
	const char *at = host.n ? memrchr(host.p, '@', host.n) : NULL;

	if (at)
		host = (struct str){ at + 1, host.n - (size_t)(at + 1 - host.p) };
	return str_cut(&host, ':');
}

static bool fits_regex(struct str text, const char *pattern)
{
	AUTO_ARENA struct arena a = { 0 };
	regex_t regex;

	if (!pattern || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	bool fits = regexec(&regex, arena_str(&a, text).p, 0, NULL, 0) == 0;
	regfree(&regex);
	return fits;
}

static bool fits_pattern(struct arena *a, const struct json *entry, const struct json *source)
{
	struct str path = json_str(json_get(source, "path"), a);
	struct str url = json_str(json_get(source, "url"), a);

	if (json_str_is(json_get(entry, "source"), "pathPattern"))
		return path.n && fits_regex(path, json_cstr(json_get(entry, "pathPattern"), a));
	if (json_str_is(json_get(source, "source"), "github"))
		url = STR("https://github.com/");
	return url.n && fits_regex(host_of(url), json_cstr(json_get(entry, "hostPattern"), a));
}

/* One spelling for the ways to name a repository. Empty: it is none. */
static struct str repository(struct arena *a, const struct json *source)
{
	struct str repo = json_str(json_get(source, "repo"), a);
	struct str url = json_str(json_get(source, "url"), a);

	if (repo.n)
		url = str_from(arena_printf(a, "https://github.com/" STR_FMT, STR_ARG(repo)));
	if (str_starts(url, STR("git@github.com:")))
		url = str_from(arena_printf(a, "https://github.com/" STR_FMT, (int)url.n - 15, url.p + 15));
	while (str_ends(url, STR("/")))
		url.n--;
	if (str_ends(url, STR(".git")))
		url.n -= 4;
	return url;
}

/* Everything that the entry says must be said by the source as well. */
static bool fits_members(struct arena *a, const struct json *entry, const struct json *source)
{
	struct str mine = repository(a, entry);
	bool same = mine.n && str_eq(mine, repository(a, source));

	for (struct json_member m = json_members(entry); m.key; m = json_member_next(entry, m)) {
		bool covered = json_str_is(m.key, "source") || json_str_is(m.key, "repo") || json_str_is(m.key, "url");
		const struct json *v = json_get_str(source, json_str(m.key, a));
		if (!(same && covered) && (!v || !json_same(m.value, v)))
			return false;
	}
	return entry->count > 0;
}

static bool fits(const struct json *entry, const char *name, const struct json *source)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *kind = json_get(entry, "source");

	if (json_is(entry, JSON_STRING))
		return json_str_is(entry, name);
	if (!json_is(entry, JSON_OBJECT) || !source)
		return false;
	if (json_str_is(kind, "hostPattern") || json_str_is(kind, "pathPattern"))
		return fits_pattern(&a, entry, source);
	return fits_members(&a, entry, source);
}

static bool is_in(const struct json *list, const char *name, const struct json *source)
{
	for (const struct json *e = json_first(list); e; e = json_next(list, e))
		if (fits(e, name, source))
			return true;
	return false;
}

const char *market_forbidden(const struct settings *settings, const char *name, const struct json *source)
{
	const struct json *blocked = settings ? settings_get(settings, "blockedMarketplaces", NULL) : NULL;
	const struct json *strict = settings ? settings_get(settings, "strictKnownMarketplaces", NULL) : NULL;

	if (blocked && is_in(blocked, name, source))
		return "blockedMarketplaces of managed settings names it";
	if (strict && !is_in(strict, name, source))
		return "strictKnownMarketplaces of managed settings does not name it";
	return NULL;
}
