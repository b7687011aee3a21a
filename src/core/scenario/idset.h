/* SPDX-License-Identifier: MIT
 * idset.h - a set of borrowed texts that is refilled for each request; clearing is O(1). */
#pragma once
#include "lib/base/str.h"

struct idset_slot {
	struct str text;
	uint32_t hash;
	uint32_t round; /* in use if equal to the set's round */
};

/* Zeroed: an empty set */
struct idset {
	struct idset_slot *slots;
	size_t cap, used;
	uint32_t round;
};

void idset_clear(struct idset *s); /* also needed before the first use */
/* false: already in the set. Borrows the text until the next clear. */
bool idset_add(struct idset *s, struct str text);
bool idset_has(const struct idset *s, struct str text);
void idset_release(struct idset *s);
