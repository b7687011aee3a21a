/* SPDX-License-Identifier: MIT
 * body.h - a request body that is streamed, never built in memory (docs/internals/transcript.md). */
#pragma once
#include "core/message/message.h"
#include "core/message/transcript.h"

enum { BODY_MARKS = 3 };
enum body_media { BODY_IMAGES = 1 << 0, BODY_DOCUMENTS = 1 << 1, BODY_RESULT_MEDIA = 1 << 2 /* both, in results */ };

struct body_replacement {
	uint32_t block;
	struct str json;
};

struct body {
	struct head *head; /* borrowed */
	const struct transcript
		*transcript;        /* borrowed; while the body is read its tail may grow, but not shrink below count */
	uint32_t count;             /* blocks to send */
	uint64_t size;              /* bytes of the whole body */
	uint64_t blocks_size;       /* of the blocks and the brackets between them */
	uint16_t origin;            /* whose thinking is sent; ORIGIN_NONE: all of it */
	bool known_only;            /* and none of an unknown origin */
	uint32_t marks[BODY_MARKS]; /* block numbers with a cache mark, ascending */
	uint32_t mark_count;
	const struct body_replacement *replaced; /* blocks that are sent in another form, ascending */
	uint32_t replaced_count;
	struct str reminder; /* borrowed; after the last block, in this request only */
	/* read position */
	enum { BODY_HEAD, BODY_PACKED, BODY_OPENING, BODY_BLOCK, BODY_REMINDER, BODY_END, BODY_OVER } part;
	uint32_t at;        /* the chunk, or the block, that is sent */
	uint32_t chunk;     /* the first one that is not behind us */
	uint32_t sent;      /* blocks up to the last one that was sent */
	int role;           /* of that one; -1: none */
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
/* A line of text stands in place of each image or document that the server does not take. The lines are in the arena. Before
 * body_set_origin(). media: of enum body_media; 0: all are sent. */
void body_replace_media(struct body *b, unsigned media, struct arena *a);
/* Leaves thinking of other origins out. Before the first read, and again before a further try. */
void body_set_origin(struct body *b, uint16_t origin, bool known_only);
void body_drop_marks(struct body *b); /* before the first read */
bool body_has_calls(const struct body *b);
size_t body_read(struct body *b, char *out, size_t room); /* 0 at the end */
void body_rewind(struct body *b);
