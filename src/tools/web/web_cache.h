/* SPDX-License-Identifier: MIT
 * web_cache.h - pages that were read a short while ago, as text. Bounded in number and in bytes; the least used go first. */
#pragma once
#include "lib/base/map.h"

struct web_entry;

struct web_cached {
	const char *url; /* where the page was found in the end */
	struct str text;
	uint64_t bytes; /* that the server sent */
	int status;
	uint64_t until_ms; /* of the loop's clock */
};

/* Zeroed: empty */
struct web_cache {
	struct map pages; /* key -> struct web_entry */
	struct web_entry *oldest, *newest;
	size_t held_bytes;
};

/* NULL: it is not there, or too old. Borrowed until the next put or release. */
const struct web_cached *web_cache_get(struct web_cache *c, const char *key, uint64_t now_ms);
/* Copies all texts; one with the same key is replaced. A page that is too large for the cache is not kept. */
void web_cache_put(struct web_cache *c, const char *key, const struct web_cached *page);
void web_cache_release(struct web_cache *c);
