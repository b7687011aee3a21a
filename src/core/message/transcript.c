/* SPDX-License-Identifier: MIT
 * transcript.c - packed chunks plus a tail. */
#include "core/message/transcript.h"
#include <assert.h>

enum { PACK_BYTES = 16 << 10 }; /* a shorter tail is sent block by block */

void transcript_release(struct transcript *t)
{
	for (uint32_t i = 0; i < t->packed_chunk_count; i++) {
		struct packed_chunk *s = t->packed_chunks[i];
		if (!--s->refs) {
			for (int k = 0; k < TRANSLATIONS; k++)
				translation_free(s->translations[k]);
			for (uint32_t k = 0; k < s->count; k++)
				segment_unref(s->blocks[k].thought);
			free(s->blocks);
			free(s);
		}
	}
	for (uint32_t i = 0; i < t->tail_count; i++) {
		segment_unref(t->tail[i].segment);
		segment_unref(t->tail[i].thought);
	}
	segment_unref(t->thought);
	free(t->packed_chunks);
	free(t->tail);
	*t = (struct transcript){ 0 };
}

struct block transcript_block(const struct transcript *t, uint32_t i)
{
	uint32_t packed = transcript_packed_count(t);

	if (i >= packed) {
		const struct tail_block *b = &t->tail[i - packed];
		return (struct block){ segment_json(b->segment), b->role,
				       b->segment->kind,         b->segment->markable,
				       b->segment->origin,       b->thought ? segment_json(b->thought) : STR("") };
	}
	/* Searched from the end: callers ask for the newest blocks. */
	uint32_t k = t->packed_chunk_count - 1;
	while (i < t->packed_chunks[k]->before)
		k--;
	const struct packed_chunk *s = t->packed_chunks[k];
	const struct packed_block *b = &s->blocks[i - s->before];
	return (struct block){ { s->bytes + b->start, b->end - b->start },     b->role, b->kind, b->markable, b->origin,
			       b->thought ? segment_json(b->thought) : STR("") };
}

enum role transcript_role(const struct transcript *t, uint32_t i)
{
	uint32_t packed = transcript_packed_count(t);

	return i >= packed ? t->tail[i - packed].role : transcript_block(t, i).role;
}

struct str role_opening(int before, enum role role)
{
	static const struct str first[] = { { "{\"role\":\"user\",\"content\":[", 26 },
					    { "{\"role\":\"assistant\",\"content\":[", 31 } };
	static const struct str next[] = { { "]},{\"role\":\"user\",\"content\":[", 29 },
					   { "]},{\"role\":\"assistant\",\"content\":[", 34 } };

	return before < 0 ? first[role] : before == (int)role ? STR(",") : next[role];
}

static struct str transcript_opening(const struct transcript *t, uint32_t i)
{
	return role_opening(i ? (int)transcript_role(t, i - 1) : -1, transcript_role(t, i));
}

static uint64_t sent_size(const struct transcript *t, uint32_t i)
{
	return transcript_opening(t, i).n + transcript_block(t, i).json.n;
}

/* Takes both; a may be NULL. */
static struct segment *join_thoughts(struct segment *a, struct segment *b)
{
	AUTO_BUF struct buf both = { 0 };

	if (!a)
		return b;
	buf_addf(&both, STR_FMT "," STR_FMT, STR_ARG(segment_json(a)), STR_ARG(segment_json(b)));
	segment_unref(a);
	segment_unref(b);
	return segment_new(SEGMENT_UNSENT, buf_str(&both));
}

void transcript_add(struct transcript *t, enum role role, struct segment *segment)
{
	bool unsent = segment->kind == SEGMENT_UNSENT;

	/* The answer is over: what it thought last belongs to its last block. */
	if (t->thought && role != ROLE_ASSISTANT) {
		struct tail_block *last = t->tail_count ? &t->tail[t->tail_count - 1] : NULL;
		if (last && last->role == ROLE_ASSISTANT)
			last->thought = join_thoughts(last->thought, TAKE(t->thought));
		segment_unref(TAKE(t->thought));
	}
	if (unsent) {
		t->thought = join_thoughts(t->thought, segment);
		return;
	}
	*xpush(t->tail, t->tail_count, t->tail_cap) = (struct tail_block){ segment, role, TAKE(t->thought) };
	t->bytes += sent_size(t, transcript_count(t) - 1);
}

void transcript_cut(struct transcript *t, uint32_t count)
{
	assert(count >= transcript_packed_count(t));
	segment_unref(TAKE(t->thought));
	while (transcript_count(t) > count) {
		t->bytes -= sent_size(t, transcript_count(t) - 1);
		segment_unref(t->tail[--t->tail_count].segment);
		segment_unref(t->tail[t->tail_count].thought);
	}
}

static uint64_t tail_bytes(const struct transcript *t)
{
	uint64_t packed = 0;

	for (uint32_t i = 0; i < t->packed_chunk_count; i++)
		packed += t->packed_chunks[i]->len;
	return t->bytes - packed;
}

static void chunk_add(struct packed_chunk *s, struct str text)
{
	memcpy(s->bytes + s->len, text.p, text.n);
	s->len += text.n;
}

static void pack_tail(struct transcript *t)
{
	struct packed_chunk *s = xmalloc(sizeof *s + tail_bytes(t));

	*s = (struct packed_chunk){ .refs = 1, .before = transcript_packed_count(t), .count = t->tail_count };
	s->blocks = xmalloc(s->count * sizeof *s->blocks);
	for (uint32_t i = 0; i < s->count; i++) {
		struct segment *segment = t->tail[i].segment;
		chunk_add(s, transcript_opening(t, s->before + i));
		s->blocks[i] = (struct packed_block){ (uint32_t)s->len,         (uint32_t)s->len + segment->len,
						      (uint8_t)t->tail[i].role, segment->kind,
						      segment->markable,        segment->origin,
						      t->tail[i].thought };
		if (segment->origin)
			s->origin = !s->origin || s->origin == segment->origin ? segment->origin : ORIGIN_SEVERAL;
		chunk_add(s, segment_json(segment));
	}
	for (uint32_t i = 0; i < s->count; i++)
		segment_unref(t->tail[i].segment);
	free(t->tail);
	t->tail = NULL;
	t->tail_count = t->tail_cap = 0;
	t->packed_chunks = xrealloc(t->packed_chunks, (t->packed_chunk_count + 1) * sizeof *t->packed_chunks);
	t->packed_chunks[t->packed_chunk_count++] = s;
}

void transcript_pack(struct transcript *t)
{
	if (t->tail_count && tail_bytes(t) >= PACK_BYTES)
		pack_tail(t);
}

void transcript_fork(struct transcript *t, struct transcript *ret_child)
{
	if (t->tail_count)
		pack_tail(t);
	*ret_child = (struct transcript){ .forked_at = transcript_count(t), .bytes = t->bytes };
	ret_child->packed_chunks = xmalloc(t->packed_chunk_count * sizeof *t->packed_chunks);
	ret_child->packed_chunk_count = t->packed_chunk_count;
	for (uint32_t i = 0; i < t->packed_chunk_count; i++) {
		ret_child->packed_chunks[i] = t->packed_chunks[i];
		t->packed_chunks[i]->refs++;
	}
}
