/* SPDX-License-Identifier: MIT
 * transcript.h - the conversation of one agent: an append-only sequence of blocks whose older part is packed, and may be
 * shared with forks (docs/internals/transcript.md). A zeroed struct is an empty transcript. */
#pragma once
#include "core/message/message.h"

enum role { ROLE_USER, ROLE_ASSISTANT };

/* A view: valid until the transcript changes */
struct block {
	struct str json;
	enum role role;
	enum segment_kind kind;
	bool markable;
	uint16_t origin;    /* of thinking */
	struct str thought; /* unsent thinking of this block, which only some APIs take back: JSON objects with commas
			       between them; may be empty */
};

/* Blocks packed in their wire form, with the brackets between them. Immutable, reference-counted. */
struct packed_chunk {
	uint32_t refs;
	uint32_t before; /* blocks before it */
	uint32_t count;
	uint16_t origin; /* of all its thinking; ORIGIN_NONE: it has none */
	struct packed_block *blocks;
	struct translation *translations[TRANSLATIONS]; /* owned; made at the first use by that API; NULL: none */
	size_t len;
	char bytes[];
};

struct packed_block {
	uint32_t start, end; /* of its JSON in the chunk's bytes */
	uint8_t role, kind;
	bool markable;
	uint16_t origin;
	struct segment *thought; /* owned; NULL: none */
};

struct tail_block {
	struct segment *segment; /* owned */
	enum role role;
	struct segment *thought; /* owned; NULL: none */
};

struct transcript {
	struct packed_chunk **packed_chunks; /* the older part; references */
	uint32_t packed_chunk_count;
	struct tail_block *tail; /* the newer part: can still be truncated */
	uint32_t tail_count;
	size_t tail_cap;
	struct segment *thought; /* owned; waits for the block that follows it; NULL: none */
	uint32_t forked_at;      /* number of blocks at the fork; 0: not a fork */
	uint64_t bytes;          /* of all blocks in their wire form, including the brackets that open messages */
};

void transcript_release(struct transcript *t);
/* Takes segment. SEGMENT_UNSENT is not a block: it belongs to the next block of the same answer, at its end to the last
 * one. */
void transcript_add(struct transcript *t, enum role role, struct segment *segment);
static inline uint32_t transcript_packed_count(const struct transcript *t)
{
	if (!t->packed_chunk_count)
		return 0;
	const struct packed_chunk *last = t->packed_chunks[t->packed_chunk_count - 1];
	return last->before + last->count;
}

static inline uint32_t transcript_count(const struct transcript *t)
{
	return transcript_packed_count(t) + t->tail_count;
}

struct block transcript_block(const struct transcript *t, uint32_t i);
enum role transcript_role(const struct transcript *t, uint32_t i);
/* Removes the blocks from count on; only from the tail (asserted). */
void transcript_cut(struct transcript *t, uint32_t count);
/* Packs a long tail, so that sending costs no work per block. Packed blocks cannot be removed. */
void transcript_pack(struct transcript *t);
/* *ret_child, which must be empty, shares all blocks of t. Packs t: not while a body reads it. */
void transcript_fork(struct transcript *t, struct transcript *ret_child);

/* The bytes before a block of this role; before: the role of the block in front of it, -1: it is the first one. */
struct str role_opening(int before, enum role role);
#define TRANSCRIPT_CLOSING "]}" /* ends the last message */
