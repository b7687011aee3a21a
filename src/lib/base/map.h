/* SPDX-License-Identifier: MIT
 * map.h - a hash map from text to pointer that iterates in insertion order. Keys are copied, values are borrowed. A
 * zeroed struct is an empty map. */
#pragma once
#include "lib/base/str.h"

struct map_entry {
	char *key; /* NULL: removed */
	size_t key_len;
	uint64_t hash;
	void *value;
};

struct map {
	struct map_entry *entries; /* in the order of insertion */
	size_t used;               /* including removed entries */
	size_t count;              /* live entries */
	size_t cap;
	uint32_t *slots; /* open addressing: index into entries + 1, 0 = free */
	size_t slot_count;
};

void map_release(struct map *m);
void *map_get(const struct map *m, struct str key);        /* NULL if absent */
void *map_set(struct map *m, struct str key, void *value); /* returns the value it replaced, or NULL */
void *map_remove(struct map *m, struct str key);           /* returns the value, or NULL */

/* for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e)) - removal of e inside the loop is allowed. */
struct map_entry *map_next(const struct map *m, const struct map_entry *e);
