/* SPDX-License-Identifier: MIT
 * digest.c - the hash of prompt prefixes, ids and signatures, and a set of ids. */
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

/* ---- signatures of thinking text and self-checking redacted data ------------------------------------------------- */

enum { SALT_THINKING = 11, SALT_REDACTED = 13 };

const char *signature_of(char out[DIGEST_ID_MAX], struct str thinking)
{
	return digest_id(out, "sig_", digest(SALT_THINKING, thinking), thinking.n);
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

/* ---- open addressing; a round number says which slots are of this request ---------------------------------------- */

static struct idset_slot *idset_find(const struct idset *s, struct str text, uint32_t hash)
{
	size_t i = hash & (s->cap - 1);

	for (; s->slots[i].round == s->round; i = (i + 1) & (s->cap - 1))
		if (s->slots[i].hash == hash && str_eq(s->slots[i].text, text))
			break;
	return &s->slots[i];
}

static void idset_resize(struct idset *s, size_t cap)
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
		idset_resize(s, 64);
	if (++s->round == 0) {
		memset(s->slots, 0, s->cap * sizeof *s->slots);
		s->round = 1;
	}
}

bool idset_add(struct idset *s, struct str text)
{
	if (s->used * 2 >= s->cap)
		idset_resize(s, s->cap * 2);

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
