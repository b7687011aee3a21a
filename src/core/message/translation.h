/* SPDX-License-Identifier: MIT
 * translation.h - part of a request (a head, a packed chunk, a tail) translated to another API, as a sequence of pieces. A
 * piece is constant text, a slice of the source, or bytes in the translation's arena. Slices are not copied, so the
 * source must outlive the translation (docs/internals/openai.md). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/str.h"

struct translation {
	struct arena arena;
	struct str *pieces;
	size_t count, cap;
	uint64_t size;     /* of all pieces, in bytes */
	uint64_t optional; /* bytes of those that only some servers get */
	int state;         /* the translator's state at the end */
	const void *facts; /* the translator's data, in the arena; may be NULL */
};

void translation_free(struct translation *t); /* t may be NULL */
/* Borrows the piece while the translation lives. Ignores an empty one. */
void translation_add(struct translation *t, struct str piece);
void translation_add_optional(struct translation *t, struct str piece);
void translation_append(struct translation *t, const struct translation *other); /* its pieces, not its arena */
