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
	struct str thought; /* unsent thinking of this block, which only some APIs take back: JSON objects with commas
			       between them; may be empty */
};

/* Blocks packed in their wire form, with the brackets between them. Immutable, reference-counted. */
struct packed_chunk {
	uint32_t refs;
	uint32_t before; /* blocks before it */
	uint32_t count;
	struct packed_block *blocks;
	struct translation *translations[TRANSLATIONS]; /* owned; made at the first use by that API; NULL: none */
	size_t len;
	char bytes[];
};

struct packed_block {
	uint32_t start, end; /* of its JSON in the chunk's bytes */
	uint8_t role, kind;
	bool markable;
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
	uint32_t tail_count, tail_cap;
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
/* Removes the blocks from count on; only from the tail (asserted). */
void transcript_cut(struct transcript *t, uint32_t count);
/* Packs a long tail, so that sending costs no work per block. Packed blocks cannot be removed. */
void transcript_pack(struct transcript *t);
/* *ret_child, which must be empty, shares all blocks of t. Packs t: not while a body reads it. */
void transcript_fork(struct transcript *t, struct transcript *ret_child);

/* For writers of the tail: the bytes before block i. */
struct str transcript_opening(const struct transcript *t, uint32_t i);
#define TRANSCRIPT_CLOSING "]}" /* ends the last message */

/* ---- the body of a request, streamed and never built in memory (docs/internals/transcript.md) ---------------------- */

enum { BODY_MARKS = 3 };

struct body {
	struct head *head; /* borrowed */
	const struct transcript
		*transcript;        /* borrowed; while the body is read its tail may grow, but not shrink below count */
	uint32_t count;             /* blocks to send */
	uint64_t size;              /* bytes of the whole body */
	uint32_t marks[BODY_MARKS]; /* block numbers with a cache mark, ascending */
	uint32_t mark_count;
	struct str reminder; /* borrowed; after the last block, in this request only */
	/* read position */
	enum { BODY_HEAD, BODY_PACKED, BODY_OPENING, BODY_BLOCK, BODY_REMINDER, BODY_END, BODY_OVER } part;
	uint32_t at;        /* shelf, or block of the tail */
	uint32_t next_mark; /* the next mark to write */
	size_t offset;      /* within the part; bytes of marks do not count */
	size_t mark_offset; /* within a mark that is being written */
};

/* All current blocks of the transcript. previous: the last marked block of this agent's previous request, or
 * UINT32_MAX. */
void body_init(struct body *b, struct head *head, const struct transcript *t, uint32_t previous);
/* Appends a text block (with a leading comma) that is not part of the conversation. Does nothing without text, or if
 * the last block is not the user's. Call before the first read. */
void body_remind(struct body *b, struct str block);
size_t body_read(struct body *b, char *out, size_t room); /* 0 at the end */
void body_rewind(struct body *b);
