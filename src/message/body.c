/* SPDX-License-Identifier: MIT
 * body.c - reads a request out of its head and its blocks, with cache marks put in on the way. */
#include "message/body.h"

static const struct str mark_text = { ",\"cache_control\":{\"type\":\"ephemeral\"}", 37 };
static const struct str end_text = { TRANSCRIPT_CLOSING "]}", 4 };

/* Adds the nearest markable block at or before i, keeping the list ascending and without doubles. */
static void add_mark(struct body *b, uint32_t i)
{
	if (i >= b->count)
		return;
	while (!transcript_block(b->transcript, i)->segment->markable) {
		if (i == 0)
			return;
		i--;
	}
	uint32_t place = 0;
	while (place < b->mark_count && b->marks[place] < i)
		place++;
	if (place < b->mark_count && b->marks[place] == i)
		return;
	memmove(&b->marks[place + 1], &b->marks[place], (b->mark_count - place) * sizeof *b->marks);
	b->marks[place] = i;
	b->mark_count++;
}

void body_init(struct body *b, const struct head *head, const struct transcript *t, uint32_t previous)
{
	uint32_t shared = transcript_shared_count(t);

	*b = (struct body){ .head = head, .transcript = t, .count = transcript_count(t) };
	add_mark(b, previous);
	add_mark(b, shared ? shared - 1 : UINT32_MAX);
	add_mark(b, b->count ? b->count - 1 : UINT32_MAX);
	b->size = head->bytes.n + t->bytes + b->mark_count * mark_text.n + end_text.n;
}

uint32_t body_last_mark(const struct body *b)
{
	return b->mark_count ? b->marks[b->mark_count - 1] : UINT32_MAX;
}

static bool is_marked(const struct body *b, uint32_t i)
{
	for (uint32_t k = 0; k < b->mark_count; k++)
		if (b->marks[k] == i)
			return true;
	return false;
}

/* The text of the part where reading stands; empty parts are stepped over by the caller. */
static struct str part_text(const struct body *b)
{
	const struct block *block = b->at < b->count ? transcript_block(b->transcript, b->at) : NULL;

	switch (b->part) {
	case BODY_HEAD:
		return b->head->bytes;
	case BODY_OPENING:
		return transcript_opening(b->at ? transcript_block(b->transcript, b->at - 1) : NULL, block);
	case BODY_FRONT: /* a block without a mark is one piece */
		return (struct str){ block->segment->bytes, block->segment->len - is_marked(b, b->at) };
	case BODY_MARK:
		return is_marked(b, b->at) ? mark_text : STR("");
	case BODY_BACK:
		return is_marked(b, b->at) ? STR("}") : STR("");
	case BODY_END:
		return end_text;
	default:
		return STR("");
	}
}

static void next_part(struct body *b)
{
	b->offset = 0;
	if (b->part == BODY_BACK)
		b->at++;
	if (b->part == BODY_HEAD || b->part == BODY_BACK)
		b->part = b->at < b->count ? BODY_OPENING : BODY_END;
	else
		b->part++;
}

size_t body_read(struct body *b, char *out, size_t room)
{
	size_t done = 0;

	while (done < room && b->part != BODY_OVER) {
		struct str text = part_text(b);
		size_t n = MIN(text.n - b->offset, room - done);
		memcpy(out + done, text.p + b->offset, n);
		done += n;
		b->offset += n;
		if (b->offset == text.n)
			next_part(b);
	}
	return done;
}

void body_rewind(struct body *b)
{
	b->at = 0;
	b->part = BODY_HEAD;
	b->offset = 0;
}
