/* SPDX-License-Identifier: MIT
 * prompt_cache.c - hashes of prompt prefixes: the hash itself, a set of ids, and the table that plays a server's
 * prompt cache. */
#include "core/scenario/prompt_cache.h"
#include "core/scenario/digest.h"
#include "core/scenario/idset.h"

/* ---- hashing by multiplication ----------------------------------------------------------------------------------- */

enum { ID_CHARS = 24 };

static const uint64_t odd[4] = { 0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u, 0x8cb92ba72f3d8dd7u, 0xaef17502108ef2d9u };

uint64_t digest_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ odd[0]) * (b ^ odd[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *p, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, p, n);
	return word;
}

uint64_t digest(uint64_t seed, struct str s)
{
	uint64_t h = seed ^ odd[2];
	uint64_t g = seed + odd[3];
	const char *p = s.p;
	size_t n = s.n;

	for (; n >= 32; p += 32, n -= 32) { /* two lanes, because one multiplication waits for the one before it */
		h = digest_mix(load(p, 8) ^ h, load(p + 8, 8));
		g = digest_mix(load(p + 16, 8) ^ g, load(p + 24, 8));
	}
	for (; n >= 8; p += 8, n -= 8)
		h = digest_mix(h ^ load(p, 8), odd[2]);
	if (n)
		h = digest_mix(h ^ load(p, n), odd[3]);
	return digest_mix(h ^ g, s.n);
}

uint64_t digest_random(uint64_t *state)
{
	*state += odd[0];
	return digest_mix(*state, odd[2]);
}

const char *digest_id(char out[DIGEST_ID_MAX], const char *prefix, uint64_t a, uint64_t b)
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	size_t at = strnlen(prefix, DIGEST_ID_MAX - ID_CHARS - 1);
	uint64_t word = 0;

	memcpy(out, prefix, at);
	for (unsigned i = 0; i < ID_CHARS; i++) {
		if (i % 8 == 0)
			word = digest_mix(a + i, b);
		out[at++] = letters[word % 62];
		word /= 62;
	}
	out[at] = '\0';
	return out;
}

/* ---- open addressing; a round number says which slots are of this request ---------------------------------------- */

static struct idset_slot *idset_find(const struct idset *s, struct str text, uint32_t hash)
{
	size_t i = hash & (s->cap - 1);

	for (; s->slots[i].round == s->round; i = (i + 1) & (s->cap - 1))
		if (s->slots[i].hash == hash && str_eq(s->slots[i].text, text))
			break;
	return &s->slots[i];
}

static void resize(struct idset *s, size_t cap)
{
	struct idset bigger = { .slots = xcalloc(cap, sizeof *s->slots), .cap = cap, .used = s->used, .round = 1 };

	for (size_t i = 0; i < s->cap; i++) {
		const struct idset_slot *old = &s->slots[i];
		if (old->round == s->round)
			*idset_find(&bigger, old->text, old->hash) = (struct idset_slot){ old->text, old->hash, 1 };
	}
	free(s->slots);
	*s = bigger;
}

void idset_clear(struct idset *s)
{
	s->used = 0;
	if (!s->slots)
		resize(s, 64);
	if (++s->round == 0) {
		memset(s->slots, 0, s->cap * sizeof *s->slots);
		s->round = 1;
	}
}

bool idset_add(struct idset *s, struct str text)
{
	if (s->used * 2 >= s->cap)
		resize(s, s->cap * 2);

	uint32_t hash = (uint32_t)digest(0, text);
	struct idset_slot *slot = idset_find(s, text, hash);
	if (slot->round == s->round)
		return false;
	*slot = (struct idset_slot){ text, hash, s->round };
	s->used++;
	return true;
}

bool idset_has(const struct idset *s, struct str text)
{
	return idset_find(s, text, (uint32_t)digest(0, text))->round == s->round;
}

void idset_release(struct idset *s)
{
	free(s->slots);
	*s = (struct idset){ 0 };
}

/* ---- a table of prefix hashes ------------------------------------------------------------------------------------ */

enum { LOOK_BACK_BLOCKS = 20, FIRST_CAP = 256 };

static struct cache_entry *prompt_cache_find(const struct prompt_cache *c, uint64_t hash)
{
	size_t i = hash & (c->cap - 1);

	while (c->entries[i].hash && c->entries[i].hash != hash)
		i = (i + 1) & (c->cap - 1);
	return &c->entries[i];
}

/* Drops what has expired, and doubles if that was not much. */
static void make_room(struct prompt_cache *c, uint64_t now_ms)
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
			make_room(c, now_ms);
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
