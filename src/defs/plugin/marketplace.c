/* SPDX-License-Identifier: MIT
 * marketplace.c - reads what a marketplace offers, and holds its source against the two lists of managed settings. */
#include "defs/plugin/marketplace.h"
#include <regex.h>
#include "lib/io/address.h"
#include "lib/io/file.h"
#include "lib/io/url.h"
#include "defs/plugin/plugin_int.h"

enum { MOST_PLUGINS = 10000 };

static int market_fail(struct marketplace *m, const struct json *value, struct err *err, const char *what)
{
	return err_set(err, ERR_USAGE, "%s:%u: %s", m->file.path, settings_line(&m->file, value), what);
}

int git_source_read(struct arena *a, const struct json *source, struct git_source *ret_source, struct err *err)
{
	struct str repo = json_str(json_get(source, "repo"), a);
	struct git_source s = { .url = json_cstr(json_get(source, "url"), a),
				.ref = json_cstr(json_get(source, "ref"), a),
				.sha = json_cstr(json_get(source, "sha"), a),
				.path = json_cstr(json_get(source, "path"), a) };
	struct str name = repo;
	struct str owner = str_cut(&name, '/');

	if (json_str_is(json_get(source, "source"), "github") && plugin_name_is_good(owner) && name.p &&
	    plugin_name_is_good(name))
		s.url = arena_printf(a, "https://github.com/" STR_FMT ".git", STR_ARG(repo));
	/* Nothing that git could take for an option, or for a program to run. */
	if (!s.url || strstr(s.url, "::") ||
	    !str_starts_with_one_of(str_from(s.url), "https://|http://|ssh://|git://|file://|git@|/"))
		return err_set(err, ERR_USAGE, "the source is not a repository that git can reach: " STR_FMT,
			       JSON_ARG(source));
	struct url u = { 0 };
	bool plain = str_starts(str_from(s.url), STR("http://")) || str_starts(str_from(s.url), STR("git://"));
	if (plain && !s.sha &&
	    (url_parse(a, s.url, &u, NULL) < 0 || address_kind_of_host(str_from(u.host)) != ADDRESS_LOOPBACK))
		return err_set(err, ERR_USAGE,
			       "%.120s: what comes without encryption could be changed on its way: use https, or "
			       "name the commit (sha)",
			       s.url);
	if (s.ref && (!s.ref[0] || s.ref[0] == '-' || strlen(s.ref) >= 256))
		return err_set(err, ERR_USAGE, "ref: expected the name of a branch or a tag");
	size_t digits = s.sha ? strspn(s.sha, "0123456789abcdefABCDEF") : 0;
	if (json_get(source, "sha") && ((digits != 40 && digits != 64) || s.sha[digits]))
		return err_set(err, ERR_USAGE, "sha: expected the 40 or 64 hexadecimal digits of a commit");
	*ret_source = s;
	return 0;
}

static int read_offers(struct marketplace *m, struct err *err)
{
	const struct json *plugins = json_get(m->file.root, "plugins");
	const char *market = m->name = json_cstr(json_get(m->file.root, "name"), &m->arena);

	if (!market || !plugin_name_is_good(str_from(market)) || !strcmp(market, "inline") ||
	    !strcmp(market, "local") || !strcmp(market, "skills-dir") || !strcmp(market, "zip"))
		return market_fail(m, m->file.root, err,
				   "name: expected letters, digits, '-', '_' and '.', and not a reserved word");
	if (!json_is(plugins, JSON_ARRAY) || plugins->count > MOST_PLUGINS)
		return market_fail(m, plugins ? plugins : m->file.root, err, "plugins: expected a list");
	m->plugins = arena_calloc(&m->arena, (plugins->count + 1) * sizeof *m->plugins);
	for (const struct json *e = json_first(plugins); e; e = json_next(plugins, e)) {
		const char *name = json_cstr(json_get(e, "name"), &m->arena);
		const struct json *source = json_get(e, "source");
		if (!name || !plugin_name_is_good(str_from(name)))
			return market_fail(m, e, err,
					   "plugins: an entry needs a name of letters, digits, '-', '_' and '.'");
		if (!json_is(source, JSON_STRING) && !json_is(source, JSON_OBJECT))
			return market_fail(m, e, err, "plugins: an entry needs a source, a path or an object");
		if (marketplace_find(m, name))
			return market_fail(m, e, err, "plugins: two entries have the same name");
		m->plugins[m->count++] = (struct market_plugin){
			.name = name,
			.version = json_cstr(json_get(e, "version"), &m->arena),
			.description = json_cstr(json_get(e, "description"), &m->arena),
			.source = source,
			.entry = e,
			.line = settings_line(&m->file, e),
		};
	}
	return 0;
}

int marketplace_read(struct marketplace *m, const char *dir, struct err *err)
{
	AUTO_FREE char *real = realpath(dir, NULL);
	int status = 0;

	*m = (struct marketplace){ 0 };
	if (!real)
		return err_set(err, ERR_NOT_FOUND, "cannot read %s: %m", dir);
	m->dir = arena_strdup(&m->arena, real);
	const char *path = path_join(&m->arena, real, ".claude-plugin/marketplace.json");
	status = settings_file_read(&m->file, path, err);
	if (status == 0 && !m->file.root)
		status = err_set(err, ERR_NOT_FOUND, "no marketplace in %s: %s is missing", dir, path);
	if (status == 0)
		status = read_offers(m, err);
	if (status < 0)
		marketplace_release(m);
	return status;
}

void marketplace_release(struct marketplace *m)
{
	settings_file_release(&m->file);
	arena_release(&m->arena);
	*m = (struct marketplace){ 0 };
}

const struct market_plugin *marketplace_find(const struct marketplace *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->plugins[i].name, name))
			return &m->plugins[i];
	return NULL;
}

int marketplace_plugin_dir(struct marketplace *m, const struct market_plugin *plugin, const char **ret_dir,
			   struct err *err)
{
	struct arena *a = &m->arena;
	const char *source = json_cstr(plugin->source, a);
	const char *base = json_cstr(json_get(json_get(m->file.root, "metadata"), "pluginRoot"), a);
	bool good = source && component_path_is_good(str_from(source), true) &&
		    (!base || component_path_is_good(str_from(base), true));

	if (!good)
		return market_fail(m, plugin->source, err, "source: expected a path that begins with ./ and has no ..");
	const char *root = base ? path_absolute(a, m->dir, str_from(base)) : m->dir;
	const char *dir = path_absolute(a, root, str_from(source));
	if (base && !file_exists(dir))
		dir = path_absolute(a, m->dir, str_from(source));
	AUTO_FREE char *real = realpath(dir, NULL);
	if (!real)
		return market_fail(m, plugin->source, err, "source: does not exist");
	if (!path_is_inside(real, m->dir))
		return market_fail(m, plugin->source, err, "source: is a link that leads out of the marketplace");
	*ret_dir = arena_strdup(a, real);
	return 0;
}

static bool fits_pattern(struct arena *a, const struct json *entry, const struct json *source)
{
	bool by_path = json_str_is(json_get(entry, "source"), "pathPattern");
	bool github = json_str_is(json_get(source, "source"), "github");
	const char *pattern = json_cstr(json_get(entry, by_path ? "pathPattern" : "hostPattern"), a);
	struct str text = json_str(json_get(source, by_path ? "path" : "url"), a);
	regex_t regex;

	if (!by_path && github)
		text = STR("github.com");
	if (!text.n)
		return false;
	if (!by_path && !github) { /* the host of "https://user@HOST:1/x" or "user@HOST:x" */
		const char *scheme = memmem(text.p, text.n, "://", 3);
		struct str rest = scheme ? (struct str){ scheme + 3, text.n - (size_t)(scheme + 3 - text.p) } : text;
		struct str host = str_cut(&rest, '/');
		const char *at = host.n ? memrchr(host.p, '@', host.n) : NULL;
		if (at)
			host = (struct str){ at + 1, host.n - (size_t)(at + 1 - host.p) };
		text = str_cut(&host, ':');
	}
	if (!pattern || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	bool fits = regexec(&regex, arena_str(a, text).p, 0, NULL, 0) == 0;
	regfree(&regex);
	return fits;
}

/* One spelling for all ways to name a repository. Empty: the source is not one. */
static struct str repository_of(struct arena *a, const struct json *source)
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

/* Every member of the entry must be in the source as well. */
static bool fits_members(struct arena *a, const struct json *entry, const struct json *source)
{
	struct str mine = repository_of(a, entry);
	bool same = mine.n && str_eq(mine, repository_of(a, source));

	for (struct json_member m = json_members(entry); m.key; m = json_member_next(entry, m)) {
		bool covered = json_str_is(m.key, "source") || json_str_is(m.key, "repo") || json_str_is(m.key, "url");
		const struct json *v = json_get_str(source, json_str(m.key, a));
		if (!(same && covered) && (!v || !json_same(m.value, v)))
			return false;
	}
	return entry->count > 0;
}

static bool policy_lists(const struct json *list, const char *name, const struct json *source)
{
	AUTO_ARENA struct arena a = { 0 };
	bool fits = false;

	for (const struct json *e = json_first(list); e && !fits; e = json_next(list, e)) {
		const struct json *kind = json_get(e, "source");
		if (json_is(e, JSON_STRING))
			fits = json_str_is(e, name);
		else if (json_str_is(kind, "hostPattern") || json_str_is(kind, "pathPattern"))
			fits = source && fits_pattern(&a, e, source);
		else
			fits = source && json_is(e, JSON_OBJECT) && fits_members(&a, e, source);
	}
	return fits;
}

const char *market_forbidden(const struct settings *settings, const char *name, const struct json *source)
{
	const struct json *blocked = settings ? settings_get(settings, "blockedMarketplaces", NULL) : NULL;
	const struct json *strict = settings ? settings_get(settings, "strictKnownMarketplaces", NULL) : NULL;

	if (blocked && policy_lists(blocked, name, source))
		return "blockedMarketplaces of managed settings names it";
	if (strict && !policy_lists(strict, name, source))
		return "strictKnownMarketplaces of managed settings does not name it";
	return NULL;
}
