/* SPDX-License-Identifier: MIT
 * web.c - what WebFetch and WebSearch share. */
#include "tools/web/web.h"

/* ---- the cache of pages ---------------------------------------------------------------------------------------- */

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

/* ---- HTTP client, model and searches ---------------------------------------------------------------------------- */

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
