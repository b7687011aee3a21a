/* SPDX-License-Identifier: MIT
 * head.c - interned request heads. */
#include "core/message/head.h"
#include <assert.h>

struct head *head_intern(struct head_pool *pool, struct str bytes)
{
	struct head *h = map_get(&pool->heads, bytes);

	if (h)
		return head_ref(h);
	h = xcalloc(1, sizeof *h);
	map_set(&pool->heads, bytes, h);
	/* The map's copy of the key is the copy: the last entry is the new one. */
	h->bytes = (struct str){ pool->heads.entries[pool->heads.used - 1].key, bytes.n };
	h->pool = pool;
	h->refs = 1;
	return h;
}

struct head *head_ref(struct head *h)
{
	h->refs++;
	return h;
}

void head_unref(struct head *h)
{
	if (!h || --h->refs)
		return;
	map_remove(&h->pool->heads, h->bytes);
	translation_free(h->translation);
	free(h);
}

void head_pool_release(struct head_pool *pool)
{
	assert(!pool->heads.count);
	map_release(&pool->heads);
}
