/* SPDX-License-Identifier: MIT
 * transcript.c - blocks on shared shelves plus an own tail. */
#include "message/transcript.h"
#include <assert.h>

struct shelf {
	uint32_t refs;
	uint32_t before;        /* blocks on older shelves */
	uint32_t count;
	struct shelf *older;
	struct block blocks[];
};

static void shelf_unref(struct shelf *s)
{
	while (s && --s->refs == 0) {
		struct shelf *older = s->older;
		for (uint32_t i = 0; i < s->count; i++)
			segment_unref(s->blocks[i].segment);
		free(s);
		s = older;
	}
}

void transcript_release(struct transcript *t)
{
	for (uint32_t i = 0; i < t->own_count; i++)
		segment_unref(t->own[i].segment);
	free(t->own);
	shelf_unref(t->shared);
	*t = (struct transcript){ 0 };
}

uint32_t transcript_shared_count(const struct transcript *t)
{
	return t->shared ? t->shared->before + t->shared->count : 0;
}

uint32_t transcript_count(const struct transcript *t)
{
	return transcript_shared_count(t) + t->own_count;
}

const struct block *transcript_block(const struct transcript *t, uint32_t i)
{
	uint32_t shared = transcript_shared_count(t);

	if (i >= shared)
		return &t->own[i - shared];
	struct shelf *s = t->shared;
	while (i < s->before)
		s = s->older;
	return &s->blocks[i - s->before];
}

struct str transcript_opening(const struct block *before, const struct block *b)
{
	static const struct str first[] = { STR("{\"role\":\"user\",\"content\":["),
					    STR("{\"role\":\"assistant\",\"content\":[") };
	static const struct str next[] = { STR("]},{\"role\":\"user\",\"content\":["),
					   STR("]},{\"role\":\"assistant\",\"content\":[") };

	if (!before)
		return first[b->role];
	return before->role == b->role ? STR(",") : next[b->role];
}

static uint64_t sent_size(const struct transcript *t, uint32_t i)
{
	const struct block *b = transcript_block(t, i);

	return transcript_opening(i ? transcript_block(t, i - 1) : NULL, b).n + b->segment->len;
}

void transcript_add(struct transcript *t, enum role role, struct segment *segment)
{
	if (t->own_count == t->own_cap) {
		t->own_cap = t->own_cap ? t->own_cap * 2 : 8;
		t->own = xrealloc(t->own, t->own_cap * sizeof *t->own);
	}
	t->own[t->own_count++] = (struct block){ segment, role };
	t->bytes += sent_size(t, transcript_count(t) - 1);
}

void transcript_cut(struct transcript *t, uint32_t count)
{
	assert(count >= transcript_shared_count(t));
	while (transcript_count(t) > count) {
		t->bytes -= sent_size(t, transcript_count(t) - 1);
		segment_unref(t->own[--t->own_count].segment);
	}
}

/* Moves the own tail onto a shelf, so that it can be shared. */
static void freeze(struct transcript *t)
{
	if (!t->own_count)
		return;
	struct shelf *s = xmalloc(sizeof *s + t->own_count * sizeof *s->blocks);
	s->refs = 1;
	s->before = transcript_shared_count(t);
	s->count = t->own_count;
	s->older = t->shared;
	memcpy(s->blocks, t->own, t->own_count * sizeof *s->blocks);
	free(t->own);
	t->own = NULL;
	t->own_count = t->own_cap = 0;
	t->shared = s;
}

void transcript_fork(struct transcript *t, struct transcript *ret_child)
{
	freeze(t);
	if (t->shared)
		t->shared->refs++;
	*ret_child = (struct transcript){ .shared = t->shared, .bytes = t->bytes };
}
