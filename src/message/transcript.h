/* SPDX-License-Identifier: MIT
 * transcript.h - the conversation of one agent: an append-only sequence of blocks whose older part may be shared with
 * forks (docs/internals/transcript.md). A zeroed struct is an empty transcript. */
#pragma once
#include "message/segment.h"

enum role { ROLE_USER, ROLE_ASSISTANT };

struct block {
	struct segment *segment;
	enum role role;
};

struct shelf;

struct transcript {
	struct shelf *shared;    /* blocks that forks share, immutable; NULL: none */
	struct block *own;       /* blocks after them */
	uint32_t own_count, own_cap;
	uint64_t bytes;          /* of all blocks as they are sent, the brackets that open messages included */
};

void transcript_release(struct transcript *t);
void transcript_add(struct transcript *t, enum role role, struct segment *segment); /* takes segment */
uint32_t transcript_count(const struct transcript *t);
uint32_t transcript_shared_count(const struct transcript *t);
const struct block *transcript_block(const struct transcript *t, uint32_t i);
/* Takes the blocks from count on away again; only own ones (asserted). */
void transcript_cut(struct transcript *t, uint32_t count);
/* *ret_child, which must be empty, gets all blocks of t; both share them from now on. */
void transcript_fork(struct transcript *t, struct transcript *ret_child);

/* For who writes the blocks out: the bytes that come before block i, given the block before it (NULL: none). */
struct str transcript_opening(const struct block *before, const struct block *b);
#define TRANSCRIPT_CLOSING "]}"  /* ends the last message */
