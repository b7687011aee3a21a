/* SPDX-License-Identifier: MIT
 * translation.c - a list of pieces. */
#include "core/message/translation.h"

struct translation *translation_new(void)
{
	return xcalloc(1, sizeof(struct translation));
}

void translation_free(struct translation *t)
{
	if (!t)
		return;
	arena_release(&t->arena);
	free(t->pieces);
	free(t);
}

void translation_add(struct translation *t, struct str piece)
{
	if (!piece.n)
		return;
	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->pieces = xrealloc(t->pieces, t->cap * sizeof *t->pieces);
	}
	t->pieces[t->count++] = piece;
	t->size += piece.n;
}

void translation_append(struct translation *t, const struct translation *other)
{
	for (size_t i = 0; i < other->count; i++)
		translation_add(t, other->pieces[i]);
}
