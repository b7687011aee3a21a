/* SPDX-License-Identifier: MIT
 * prompt_cache.h - the model of the prompt cache. A prefix is written at each mark, once the answer has begun; a later
 * request reads the longest written prefix that one of its marks finds within 20 blocks, the marked one included. Each
 * use renews the lifetime of an entry, which its mark sets. */
#pragma once
#include "core/scenario/request.h"

struct cache_entry {
	uint64_t hash; /* 0: free */
	uint64_t expires_ms;
};

/* Zeroed: empty */
struct prompt_cache {
	struct cache_entry *entries;
	size_t cap, used;
};

/* Kept by a reply until it has begun */
struct cache_write {
	uint64_t hash;
	uint64_t ttl_ms;
};

struct cache_look {
	uint64_t read_bytes;   /* found */
	uint64_t prefix_bytes; /* up to the last mark that is long enough */
	uint64_t total_bytes;
	struct cache_write writes[REQUEST_MAX_MARKS];
	unsigned write_count;
};

void prompt_cache_write(struct prompt_cache *c, const struct cache_write *writes, unsigned n, uint64_t now_ms);
