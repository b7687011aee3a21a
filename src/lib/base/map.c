/* SPDX-License-Identifier: MIT
 * map.c - a dense array of entries plus an index of slots, as in the newer Python dictionaries: iteration is in the
 * order of insertion, which keeps listings and request bytes stable. */
#include "lib/base/map.h"

enum { FIRST_SLOTS = 8 };

void map_release(struct map *m)
{
	for (size_t i = 0; i < m->used; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m->slots);
	*m = (struct map){ 0 };
}

static struct map_entry *map_find(const struct map *m, struct str key, uint64_t hash)
{
	if (!m->slot_count)
		return NULL;
	for (size_t i = hash & (m->slot_count - 1); m->slots[i]; i = (i + 1) & (m->slot_count - 1)) {
		struct map_entry *e = &m->entries[m->slots[i] - 1];
		if (e->key && e->hash == hash && str_eq((struct str){ e->key, e->key_len }, key))
			return e;
	}
	return NULL;
}

static void index_entry(struct map *m, size_t at)
{
	size_t i = m->entries[at].hash & (m->slot_count - 1);

	while (m->slots[i])
		i = (i + 1) & (m->slot_count - 1);
	m->slots[i] = (uint32_t)at + 1;
}

/* Drops removed entries and makes room, so that the slots are never more than half full. */
static void map_rebuild(struct map *m)
{
	size_t live = 0;
	for (size_t i = 0; i < m->used; i++)
		if (m->entries[i].key)
			m->entries[live++] = m->entries[i];
	m->used = live;

	size_t want = FIRST_SLOTS;
	while (want < (live + 1) * 4)
		want *= 2;
	free(m->slots);
	m->slots = xcalloc(want, sizeof *m->slots);
	m->slot_count = want;
	m->cap = want / 2;
	m->entries = xrealloc(m->entries, m->cap * sizeof *m->entries);
	for (size_t i = 0; i < m->used; i++)
		index_entry(m, i);
}

void *map_get(const struct map *m, struct str key)
{
	struct map_entry *e = map_find(m, key, str_hash(key));

	return e ? e->value : NULL;
}

void *map_set(struct map *m, struct str key, void *value)
{
	uint64_t hash = str_hash(key);
	struct map_entry *e = map_find(m, key, hash);

	if (e) {
		void *old = e->value;
		e->value = value;
		return old;
	}
	if (m->used == m->cap)
		map_rebuild(m);
	m->entries[m->used] = (struct map_entry){ xstrndup(key.n ? key.p : "", key.n), key.n, hash, value };
	index_entry(m, m->used);
	m->used++;
	m->count++;
	return NULL;
}

void *map_remove(struct map *m, struct str key)
{
	struct map_entry *e = map_find(m, key, str_hash(key));

	if (!e)
		return NULL;
	free(e->key);
	e->key = NULL; /* its slot stays taken until the next rebuild, so that probing continues past it */
	m->count--;
	return e->value;
}

struct map_entry *map_next(const struct map *m, const struct map_entry *e)
{
	for (size_t i = e ? (size_t)(e - m->entries) + 1 : 0; i < m->used; i++)
		if (m->entries[i].key)
			return &m->entries[i];
	return NULL;
}
