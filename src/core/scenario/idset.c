/* SPDX-License-Identifier: MIT
 * idset.c - open addressing; a round number says which slots are of this request. */
#include "core/scenario/idset.h"
#include "core/scenario/digest.h"

static struct idset_slot *find(const struct idset *s, struct str text, uint32_t hash)
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
			*find(&bigger, old->text, old->hash) = (struct idset_slot){ old->text, old->hash, 1 };
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
	struct idset_slot *slot = find(s, text, hash);
	if (slot->round == s->round)
		return false;
	*slot = (struct idset_slot){ text, hash, s->round };
	s->used++;
	return true;
}

bool idset_has(const struct idset *s, struct str text)
{
	return find(s, text, (uint32_t)digest(0, text))->round == s->round;
}

void idset_release(struct idset *s)
{
	free(s->slots);
	*s = (struct idset){ 0 };
}
