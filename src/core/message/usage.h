/* SPDX-License-Identifier: MIT
 * usage.h - tokens of a request, as the API reports them. */
#pragma once
#include "lib/json/json.h"
#include "lib/json/json_write.h"

struct usage {
	int64_t input, output, cache_read, cache_write; /* total input is input + cache_read + cache_write */
	int64_t cache_write_5m, cache_write_1h;         /* parts of cache_write, if reported */
	int64_t web_searches;
	bool estimated; /* not reported by the server: includes estimates from bytes */
};

/* Overwrites each figure present in the object: message_start has the first, message_delta the final ones. */
void usage_merge(struct usage *u, const struct json *object);
void usage_add(struct usage *sum, const struct usage *u);
void usage_write(struct json_out *w, const struct usage *u); /* as a value: {"input_tokens":...} */
