/* SPDX-License-Identifier: MIT
 * digest.c - the hash of prompt prefixes, ids and signatures. */
#include "core/scenario/digest.h"

enum { ID_CHARS = 24 };

static const uint64_t odd[4] = { 0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u, 0x8cb92ba72f3d8dd7u, 0xaef17502108ef2d9u };

uint64_t digest_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ odd[0]) * (b ^ odd[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_bytes(const char *p, size_t n)
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
		h = digest_mix(load_bytes(p, 8) ^ h, load_bytes(p + 8, 8));
		g = digest_mix(load_bytes(p + 16, 8) ^ g, load_bytes(p + 24, 8));
	}
	for (; n >= 8; p += 8, n -= 8)
		h = digest_mix(h ^ load_bytes(p, 8), odd[2]);
	if (n)
		h = digest_mix(h ^ load_bytes(p, n), odd[3]);
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

/* Signatures of thinking text and self-checking redacted data. */

enum { SALT_THINKING = 11, SALT_REDACTED = 13 };

const char *signature_of(char out[DIGEST_ID_MAX], struct str model, struct str thinking)
{
	return digest_id(out, "sig_", digest(SALT_THINKING, thinking), digest(thinking.n, model));
}

const char *tool_model_prefix(char out[TOOL_MODEL_MAX], struct str model)
{
	snprintf(out, TOOL_MODEL_MAX, "toolu_0T%04x", (unsigned)(digest(SALT_THINKING, model) & 0xffff));
	return out;
}

/* Random letters, then a check over them. */
const char *redacted_make(char out[REDACTED_MAX], uint64_t a, uint64_t b)
{
	digest_id(out, "redacted_", a, b);
	struct str random = str_from(out);
	digest_id(out + random.n, "_", digest(SALT_REDACTED, random), random.n);
	return out;
}

bool redacted_is_ours(struct str data)
{
	const char *split = data.n ? memrchr(data.p, '_', data.n) : NULL;
	char check[DIGEST_ID_MAX];

	if (!split)
		return false;
	struct str random = { data.p, (size_t)(split - data.p) };
	struct str rest = { split, data.n - random.n };
	return str_is(rest, digest_id(check, "_", digest(SALT_REDACTED, random), random.n));
}
