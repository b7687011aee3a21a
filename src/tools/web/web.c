/* SPDX-License-Identifier: MIT
 * web.c - what WebFetch and WebSearch share. */
#include "tools/web/web.h"

/* ---- the cache of pages ---------------------------------------------------------------------------------------- */

enum { MAX_PAGES = 128, MAX_BYTES = 16 << 20 };

struct web_entry {
	struct web_entry *older, *newer;
	struct web_cached page; /* of the texts below */
	char *key, *url, *text;
};

static size_t cache_cost(const char *key, const struct web_cached *page)
{
	return sizeof(struct web_entry) + strlen(key) + strlen(page->url) + page->text.n;
}

static void cache_unlink(struct web_cache *c, struct web_entry *e)
{
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
}

static void cache_link(struct web_cache *c, struct web_entry *e)
{
	e->older = c->newest;
	e->newer = NULL;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void cache_drop(struct web_cache *c, struct web_entry *e)
{
	cache_unlink(c, e);
	map_remove(&c->pages, str_from(e->key));
	c->held_bytes -= cache_cost(e->key, &e->page);
	free(e->key);
	free(e->url);
	free(e->text);
	free(e);
}

const struct web_cached *web_cache_get(struct web_cache *c, const char *key, uint64_t now_ms)
{
	struct web_entry *e = map_get(&c->pages, str_from(key));

	if (!e)
		return NULL;
	if (e->page.until_ms <= now_ms) {
		cache_drop(c, e);
		return NULL;
	}
	cache_unlink(c, e);
	cache_link(c, e);
	return &e->page;
}

void web_cache_put(struct web_cache *c, const char *key, const struct web_cached *page)
{
	struct web_entry *old = map_get(&c->pages, str_from(key));
	size_t cost = cache_cost(key, page);

	if (old)
		cache_drop(c, old);
	if (cost > MAX_BYTES)
		return;
	struct web_entry *e = xcalloc(1, sizeof *e);
	e->key = xstrdup(key);
	e->url = xstrdup(page->url);
	e->text = xstrndup(page->text.p, page->text.n);
	e->page = *page;
	e->page.url = e->url;
	e->page.text.p = e->text;
	map_set(&c->pages, str_from(e->key), e);
	cache_link(c, e);
	c->held_bytes += cost;
	while (c->pages.count > MAX_PAGES || c->held_bytes > MAX_BYTES)
		cache_drop(c, c->oldest);
}

void web_cache_release(struct web_cache *c)
{
	while (c->oldest)
		cache_drop(c, c->oldest);
	map_release(&c->pages);
	*c = (struct web_cache){ 0 };
}

/* ---- the way to pages and searches ------------------------------------------------------------------------------ */

struct web *web_new(struct loop *loop)
{
	struct http_options options = { .user_agent = "cadre/" CADRE_VERSION " (a user's agent reads a page)" };
	struct web *web = xcalloc(1, sizeof *web);

	web->loop = loop;
	web->http = http_new(loop, &options, NULL); /* opens nothing before the first request: it cannot fail */
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

void web_return_searches(struct web *web, const char *session_id, unsigned count)
{
	uintptr_t used = (uintptr_t)map_get(&web->searches, str_from(session_id));

	map_set(&web->searches, str_from(session_id), (void *)(used - MIN(used, count)));
}
