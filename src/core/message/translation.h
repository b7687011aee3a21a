/* SPDX-License-Identifier: MIT
 * translation.h - a run of a request (a head, a shelf, a tail) in the form of another API, as pieces that are sent one behind
 * the other. A piece is constant text, a part of the run that it was made of, or bytes in the translation's own arena: what
 * the run has as it is needed is not copied, and so the run must live as long (docs/internals/openai.md). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/str.h"

struct translation {
	struct arena arena;
	struct str *pieces;
	size_t count, cap;
	uint64_t size;     /* of all pieces, in bytes */
	int state;         /* the translator's: how the run leaves the text behind it */
	const void *facts; /* what the translator wants to remember, in the arena; may be NULL */
};

struct translation *translation_new(void);    /* returns owned */
void translation_free(struct translation *t); /* t may be NULL */
/* Borrows the piece for as long as the translation lives. An empty one is nothing. */
void translation_add(struct translation *t, struct str piece);
void translation_append(struct translation *t, const struct translation *other); /* its pieces, not its arena */
