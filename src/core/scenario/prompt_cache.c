/* SPDX-License-Identifier: MIT
 * prompt_cache.c - a hash table of prompt prefixes. */
#include "core/scenario/prompt_cache.h"

enum { LOOK_BACK_BLOCKS = 20, FIRST_CAP = 256 };

static struct cache_entry *prompt_cache_find(const struct prompt_cache *c, uint64_t hash)
{
	size_t i = hash & (c->cap - 1);

	while (c->entries[i].hash && c->entries[i].hash != hash)
		i = (i + 1) & (c->cap - 1);
	return &c->entries[i];
}

/* Drops expired entries, and doubles the table if that freed little. */
static void prompt_cache_grow(struct prompt_cache *c, uint64_t now_ms)
{
	size_t live = 0;

	for (size_t i = 0; i < c->cap; i++)
		live += c->entries[i].hash && c->entries[i].expires_ms > now_ms;
	struct prompt_cache fresh = { .cap = c->cap ? c->cap : FIRST_CAP };
	while (live * 4 > fresh.cap)
		fresh.cap *= 2;
	fresh.entries = xcalloc(fresh.cap, sizeof *fresh.entries);
	for (size_t i = 0; i < c->cap; i++) {
		if (!c->entries[i].hash || c->entries[i].expires_ms <= now_ms)
			continue;
		*prompt_cache_find(&fresh, c->entries[i].hash) = c->entries[i];
		fresh.used++;
	}
	free(c->entries);
	*c = fresh;
}

/* The longest live prefix that a mark finds: block + 1, or 0. A hit lives on. */
static size_t look_back(struct prompt_cache *c, const struct request *r, const struct mark *mark, uint64_t now_ms)
{
	size_t last = mark->block + 1;
	size_t first = last > LOOK_BACK_BLOCKS ? last - LOOK_BACK_BLOCKS : 0;

	for (size_t end = last; c->cap && end > first; end--) {
		struct cache_entry *e = prompt_cache_find(c, r->prefixes[end - 1].hash);
		if (e->hash && e->expires_ms > now_ms) {
			e->expires_ms = MAX(e->expires_ms, now_ms + mark->ttl_ms);
			return end;
		}
	}
	return 0;
}

struct cache_look prompt_cache_look(struct prompt_cache *c, const struct request *r, uint64_t min_bytes,
				    uint64_t now_ms)
{
	struct cache_look look = { 0 };

	if (r->prefix_count)
		look.total_bytes = r->prefixes[r->prefix_count - 1].bytes;
	for (unsigned i = 0; i < r->mark_count; i++) {
		const struct mark *mark = &r->marks[i];
		const struct prefix *prefix = &r->prefixes[mark->block];
		if (prefix->bytes < min_bytes)
			continue;
		size_t hit = look_back(c, r, mark, now_ms);
		if (hit)
			look.read_bytes = MAX(look.read_bytes, r->prefixes[hit - 1].bytes);
		look.prefix_bytes = MAX(look.prefix_bytes, prefix->bytes);
		look.writes[look.write_count++] = (struct cache_write){ prefix->hash, mark->ttl_ms };
	}
	return look;
}

void prompt_cache_write(struct prompt_cache *c, const struct cache_write *writes, unsigned n, uint64_t now_ms)
{
	for (unsigned i = 0; i < n; i++) {
		if (!writes[i].hash)
			continue;
		if ((c->used + 1) * 2 > c->cap)
			prompt_cache_grow(c, now_ms);
		struct cache_entry *e = prompt_cache_find(c, writes[i].hash);
		c->used += !e->hash;
		*e = (struct cache_entry){ writes[i].hash, MAX(e->expires_ms, now_ms + writes[i].ttl_ms) };
	}
}

void prompt_cache_release(struct prompt_cache *c)
{
	free(c->entries);
	*c = (struct prompt_cache){ 0 };
}
