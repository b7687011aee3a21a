/* SPDX-License-Identifier: MIT
 * body.h - a request body that is read, never built (docs/internals/transcript.md). */
#pragma once
#include "message/head.h"
#include "message/transcript.h"

enum { BODY_MARKS = 3 };

struct body {
	const struct head *head;            /* borrowed */
	const struct transcript *transcript; /* borrowed; may grow, not shrink below count, while the body is in use */
	uint32_t count;                     /* blocks to send */
	uint64_t size;                      /* bytes of the whole body */
	uint32_t marks[BODY_MARKS];         /* block numbers with a cache mark, ascending */
	uint32_t mark_count;
	/* where reading stands */
	uint32_t at;                        /* block */
	enum { BODY_HEAD, BODY_OPENING, BODY_FRONT, BODY_MARK, BODY_BACK, BODY_END, BODY_OVER } part;
	size_t offset;                      /* within the part */
};

/* All blocks that the transcript has now. previous: the block that the last request of this agent marked last, or
 * UINT32_MAX. */
void body_init(struct body *b, const struct head *head, const struct transcript *t, uint32_t previous);
size_t body_read(struct body *b, char *out, size_t room); /* 0 at the end */
void body_rewind(struct body *b);
uint32_t body_last_mark(const struct body *b);            /* UINT32_MAX: none */
