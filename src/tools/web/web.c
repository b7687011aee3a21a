/* SPDX-License-Identifier: MIT
 * web.c - what WebFetch and WebSearch share. */
#include "tools/web/web.h"
#include "guard/permission/permission.h"
#include "guard/permission/rule_pattern.h"
#include "lib/io/address.h"
#include "lib/io/url.h"
#include "lib/json/json_write.h"

enum { MAX_BYTES = 16 << 20 };

static size_t entry_cost(const char *key, const struct web_cached *page)
{
	return sizeof(struct web_entry) + strlen(key) + strlen(page->url) + page->text.n;
}

/* The last entry takes its place. */
static void cache_drop(struct web_cache *c, struct web_entry *e)
{
	c->held_bytes -= entry_cost(e->key, &e->page);
	free(e->key);
	free(e->url);
	free(e->text);
	*e = c->entries[--c->count];
}

const struct web_cached *web_cache_get(struct web_cache *c, const char *key, uint64_t now_ms)
{
	for (struct web_entry *e = c->entries; e < c->entries + c->count; e++) {
		if (strcmp(e->key, key) != 0)
			continue;
		if (e->page.until_ms > now_ms) {
			e->used = ++c->uses;
			return &e->page;
		}
		cache_drop(c, e);
		break;
	}
	return NULL;
}

void web_cache_put(struct web_cache *c, const char *key, const struct web_cached *page)
{
	size_t cost = entry_cost(key, page);

	(void)web_cache_get(c, key, UINT64_MAX); /* an old one is dropped */
	if (cost > MAX_BYTES)
		return;
	while (c->count == WEB_CACHE_PAGES || c->held_bytes + cost > MAX_BYTES) {
		struct web_entry *oldest = c->entries;
		for (struct web_entry *e = c->entries; e < c->entries + c->count; e++)
			oldest = e->used < oldest->used ? e : oldest;
		cache_drop(c, oldest);
	}
	struct web_entry *e = &c->entries[c->count++];
	*e = (struct web_entry){ .page = *page,
				 .used = ++c->uses,
				 .key = xstrdup(key),
				 .url = xstrdup(page->url),
				 .text = xstrndup(page->text.p, page->text.n) };
	e->page.url = e->url;
	e->page.text.p = e->text;
	c->held_bytes += cost;
}

void web_cache_release(struct web_cache *c)
{
	while (c->count)
		cache_drop(c, c->entries);
}

struct web *web_new(struct loop *loop)
{
	struct http_options options = { .user_agent = "cadre/" CADRE_VERSION " (a user's agent reads a page)" };
	struct web *web = xnew(struct web, .loop = loop);

	web->http = http_new(loop, &options);
	return web;
}

void web_free(struct web *web)
{
	if (!web)
		return;
	http_free(web->http);
	web_cache_release(&web->cache);
	map_release(&web->searches);
	free(web);
}

unsigned web_take_searches(struct web *web, const char *session_id, unsigned wanted, unsigned limit)
{
	uintptr_t used = (uintptr_t)map_get(&web->searches, str_from(session_id));
	unsigned taken = used < limit ? MIN(wanted, (unsigned)(limit - used)) : 0;

	map_set(&web->searches, str_from(session_id), (void *)(used + taken));
	return taken;
}

/* URLs, and which of them a call may fetch. */

enum { TEXT_LIMIT_BYTES = 4096 };

static struct web_url web_url_from(struct arena *a, const struct url *u)
{
	return (struct web_url){ .text = u->text,
				 .host = host_normal(a, str_from(u->host)).p,
				 .port = u->port,
				 .https = !strcmp(u->scheme, "https") };
}

int web_url_parse(struct arena *a, struct str text, struct web_url *ret_url, struct err *err)
{
	const char *copy = arena_dup(a, text.p, text.n);
	struct url parts;

	if (text.n > TEXT_LIMIT_BYTES)
		return err_set(err, ERR_USAGE, "the address is longer than %d bytes", TEXT_LIMIT_BYTES);
	if (strlen(copy) != text.n)
		return err_set(err, ERR_USAGE, "'%.150s' is not an address", copy);
	if (url_parse(a, copy, &parts, err) < 0)
		return err_wrap(err, "'%.150s'", copy);
	if (parts.has_user)
		return err_set(err, ERR_USAGE, "an address with a user name is not fetched");
	struct web_url url = web_url_from(a, &parts);
	const char *c = url.host;
	while (*c && !(*c & 0x80))
		c++;
	if (!str_is(host_of_url(a, text), url.host) || *c)
		return err_set(err, ERR_USAGE, "write the host as '%.100s', in ASCII and without escapes", url.host);
	*ret_url = url;
	return 0;
}

void web_url_upgrade(struct arena *a, struct web_url *url)
{
	struct url parts;

	if (url_parse(a, url->text, &parts, NULL) == 0 && url_to_https(a, &parts, NULL) == 0)
		*url = web_url_from(a, &parts);
}

bool web_url_is_local(const struct web_url *url)
{
	static const char *const ends[] = { ".local", ".internal", ".intranet", ".lan", ".home.arpa" };
	struct str host = str_from(url->host);
	enum address_kind kind = address_kind_of_host(host);

	if (kind)
		return kind != ADDRESS_PUBLIC;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (str_ends(host, str_from(ends[i])))
			return true;
	return !strchr(url->host, '.');
}

unsigned web_refused_kinds(const struct tool_call *call, const struct web_url *url)
{
	struct str host = str_from(url->host);
	enum address_kind kind = address_kind_of_host(host);

	if (call->env->settings && call->env->settings->fetch_private)
		return ADDRESS_OTHER;
	if (!permission_names_host(call->env->permission, host))
		return ADDRESS_NOT_PUBLIC;
	return ADDRESS_NOT_PUBLIC & ~(unsigned)(kind ? kind : ADDRESS_PRIVATE);
}

/* Evaluates the rules for the same tool with the new URL. A running call cannot ask the user: a redirect that would need a
 * question is reported to the model. An unanswerable question is not a rule against the host that this call was allowed for. */
enum web_redirect web_check_redirect(const struct tool_call *call, const struct web_url *from, const struct web_url *to,
				     struct buf *reason)
{
	struct permission_verdict verdict = { .decision = PERMISSION_ALLOW };
	struct tool_use use = tool_call_use(call); /* with the new URL */
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };
	enum web_redirect redirect = WEB_REPORT;

	json_addf(&input, "{url:'%s'}", to->text);
	if (call->env->permission && json_parse(&reader, input.p, input.n, &use.input, NULL) == 0)
		permission_explain(call->env->permission, use, PERMISSION_HINT_NONE, &verdict);
	if (verdict.decision == PERMISSION_DENY && !verdict.unanswerable) {
		buf_append(reason, buf_str(&verdict.reason));
		redirect = WEB_REFUSE;
	} else if (!strcmp(from->port, to->port) || ((!strcmp(from->port, from->https ? "443" : "80")) &&
						     (!strcmp(to->port, to->https ? "443" : "80")))) {
		bool is_near = !strcmp(strncmp(from->host, "www.", 4) ? from->host : from->host + 4,
				       strncmp(to->host, "www.", 4) ? to->host : to->host + 4);
		if (!strcmp(from->host, to->host) || (is_near && verdict.decision == PERMISSION_ALLOW))
			redirect = WEB_FOLLOW;
	}
	permission_verdict_release(&verdict);
	return redirect;
}
