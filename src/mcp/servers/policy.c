/* SPDX-License-Identifier: MIT
 * policy.c - lists of denied and allowed servers, and the URL patterns in them. A URL is parsed by the library that will
 * connect to it, so that both see the same host. */
#include "mcp/servers/config.h"
#include <curl/curl.h>
#include "lib/base/arena.h"
#include "lib/match/glob.h"

struct parts {
	struct str scheme, authority, path;
};

/* NULL: no such part. */
static const char *get_part(CURLU *url, CURLUPart part, unsigned flags, struct arena *a)
{
	char *text = NULL;

	if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
		return NULL;
	const char *copy = arena_strdup(a, text);
	curl_free(text);
	return copy;
}

static bool split_url(struct arena *a, const char *url, struct parts *ret)
{
	CURLU *handle = curl_url();

	if (!handle)
		base_oom(0);
	bool good = curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK;
	const char *scheme = get_part(handle, CURLUPART_SCHEME, 0, a);
	const char *host = get_part(handle, CURLUPART_HOST, 0, a);
	const char *port = get_part(handle, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT, a);
	const char *path = get_part(handle, CURLUPART_PATH, 0, a);
	const char *query = get_part(handle, CURLUPART_QUERY, 0, a);
	curl_url_cleanup(handle);
	if (!good || !scheme || !host)
		return false;
	struct str name = str_from(host);
	if (str_ends(name, STR(".")))
		name.n--;
	const char *authority = arena_printf(a, STR_FMT "%s%s", STR_ARG(name), port ? ":" : "", port ? port : "");
	*ret = (struct parts){
		.scheme = arena_lower(a, str_from(scheme)),
		.authority = arena_lower(a, str_from(authority)),
		.path = str_from(arena_printf(a, "%s%s%s", path ? path : "/", query ? "?" : "", query ? query : "")),
	};
	return true;
}

static bool split_pattern(struct arena *a, struct str pattern, struct parts *ret)
{
	const char *mark = memmem(pattern.p, pattern.n, "://", 3);

	if (!mark)
		return false;
	struct str scheme = arena_lower(a, str_between(pattern.p, mark));
	struct str rest = { mark + 3, pattern.n - scheme.n - 3 };
	size_t n = 0;
	while (n < rest.n && !char_in(rest.p[n], "/?#"))
		n++;
	const char *user = memrchr(rest.p, '@', n);
	size_t skip = user ? (size_t)(user - rest.p) + 1 : 0;
	struct str authority = arena_lower(a, (struct str){ rest.p + skip, n - skip });
	struct str port = str_is(scheme, "https") ? STR(":443") : str_is(scheme, "http") ? STR(":80") : STR("");
	if (port.n && str_ends(authority, port))
		authority.n -= port.n;
	*ret = (struct parts){ scheme, authority, { rest.p + n, rest.n - n } };
	return true;
}

bool policy_url_fits(struct str pattern, const char *url)
{
	AUTO_ARENA struct arena a = { 0 };
	struct parts p;
	struct parts u;

	if (!split_url(&a, url, &u))
		return wildcard_match(pattern, str_from(url));
	if (!split_pattern(&a, pattern, &p)) {
		const char *whole = arena_printf(&a, STR_FMT "://" STR_FMT STR_FMT, STR_ARG(u.scheme),
						 STR_ARG(u.authority), STR_ARG(u.path));
		return wildcard_match(pattern, str_from(url)) || wildcard_match(pattern, str_from(whole));
	}
	if (!wildcard_match(p.scheme, u.scheme) || !wildcard_match(p.authority, u.authority))
		return false;
	if (p.path.n)
		return wildcard_match(p.path, u.path);
	return str_ends(p.authority, STR("*")) || str_is(u.path, "/");
}

/* One of the three is set. */
struct rule {
	const char *name;
	const char *const *command; /* ends with NULL */
	const char *url;
	const char *file;
	unsigned line;
};

struct rules {
	struct rule *list;
	size_t count;
};

struct mcp_policy {
	struct arena arena;
	struct rules denied, allowed;
	bool limited; /* only what is in allowed */
};

struct policy_reader {
	struct mcp_policy *policy;
	struct rules *rules;
	bool managed_only;
	struct buf *notes; /* of rules that allow; NULL: a bad rule is an error */
	struct err *err;
	int status;
};

/* NULL: not a list of texts, or an empty one. */
static const char *const *read_command(struct arena *a, const struct json *v)
{
	if (!json_is(v, JSON_ARRAY) || !v->count)
		return NULL;
	const char **words = arena_calloc(a, (v->count + 1) * sizeof *words);
	size_t n = 0;
	for (const struct json *e = json_first(v); e; e = json_next(v, e)) {
		words[n] = json_cstr(e, a);
		if (!words[n++])
			return NULL;
	}
	return words;
}

static void read_item(void *data, const struct settings_item *item)
{
	static const char expected[] =
		"expected {\"serverName\": text}, {\"serverCommand\": [text, ...]} or {\"serverUrl\": text}";
	struct policy_reader *r = data;
	struct arena *a = &r->policy->arena;
	struct rules *rules = r->rules;
	const struct json *v = item->value;
	struct rule rule = {
		.name = json_cstr(json_get(v, "serverName"), a),
		.command = read_command(a, json_get(v, "serverCommand")),
		.url = json_cstr(json_get(v, "serverUrl"), a),
		.file = arena_strdup(a, item->origin.file),
		.line = item->origin.line,
	};
	bool good = json_is(v, JSON_OBJECT) && v->count == 1 && (rule.name || rule.command || rule.url);

	if (r->status < 0 || (r->managed_only && item->origin.layer != LAYER_MANAGED))
		return;
	if (!good && r->notes)
		buf_addf(r->notes, "%s:%u: allowedMcpServers: %s; this entry allows nothing\n", rule.file, rule.line,
			 expected);
	else if (!good)
		r->status = err_set(r->err, ERR_USAGE, "%s:%u:%u: deniedMcpServers: %s", rule.file, rule.line,
				    item->origin.column, expected);
	if (!good)
		return;
	*arena_push(a, rules->list, rules->count) = rule;
}

/* The list of an untrusted project allows nothing, but its existence still restricts. */
static void see_list(void *data, const struct settings_view *view)
{
	struct policy_reader *r = data;

	if (view->value && view->effect != EFFECT_IGNORED && (!r->managed_only || view->origin.layer == LAYER_MANAGED))
		r->policy->limited = true;
}

int mcp_policy_new(const struct settings *settings, struct buf *notes, struct mcp_policy **ret_policy, struct err *err)
{
	struct mcp_policy *p = xcalloc(1, sizeof *p);
	struct policy_reader denied = { .policy = p, .rules = &p->denied, .err = err };
	struct policy_reader allowed = {
		.policy = p,
		.rules = &p->allowed,
		.managed_only = settings_bool(settings, "allowManagedMcpServersOnly"),
		.notes = notes,
		.err = err,
	};

	settings_each(settings, "deniedMcpServers", read_item, &denied);
	settings_explain(settings, "allowedMcpServers", see_list, &allowed);
	settings_each(settings, "allowedMcpServers", read_item, &allowed);
	if (denied.status < 0) {
		mcp_policy_free(p);
		return denied.status;
	}
	*ret_policy = p;
	return 0;
}

void mcp_policy_free(struct mcp_policy *p)
{
	if (!p)
		return;
	arena_release(&p->arena);
	free(p);
}

static bool rule_fits(const struct rule *rule, const struct mcp_server *s)
{
	if (rule->name)
		return !strcmp(rule->name, s->name);
	if (rule->command) {
		const char *const *command = rule->command;
		size_t i = 0;
		if (!s->command || strcmp(command[0], s->command) != 0)
			return false;
		while (s->args[i] && command[i + 1] && !strcmp(s->args[i], command[i + 1]))
			i++;
		return !s->args[i] && !command[i + 1];
	}
	return s->url && policy_url_fits(str_from(rule->url), s->url);
}

bool mcp_policy_allows(const struct mcp_policy *p, const struct mcp_server *s, struct buf *why)
{
	bool by_name = true;

	for (size_t i = 0; i < p->denied.count; i++) {
		const struct rule *rule = &p->denied.list[i];
		if (rule_fits(rule, s)) {
			buf_addf(why, "denied by deniedMcpServers in %s:%u", rule->file, rule->line);
			return false;
		}
	}
	if (!p->limited || s->kind == MCP_SDK)
		return true;
	/* Names count only if no entry is for this kind of server: a name alone is easy to fake. */
	for (size_t i = 0; i < p->allowed.count; i++)
		if (s->command ? p->allowed.list[i].command != NULL : p->allowed.list[i].url != NULL)
			by_name = false;
	for (size_t i = 0; i < p->allowed.count; i++)
		if ((by_name || !p->allowed.list[i].name) && rule_fits(&p->allowed.list[i], s))
			return true;
	buf_addstr(why, "not in allowedMcpServers");
	return false;
}
