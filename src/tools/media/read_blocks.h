/* SPDX-License-Identifier: MIT
 * read_blocks.h - a result with more than text in it, put together piece by piece: the content blocks for the model and the
 * words for people, who see of an image that there is one. Neighbouring texts become one block. May be filled in a worker. */
#pragma once
#include "core/tool/tool.h"

struct read_blocks {
	struct buf words;  /* for people */
	struct buf run;    /* text that is not a block yet */
	struct buf blocks; /* "[{...},{...}", without its end */
	size_t media;      /* blocks that are not text */
};

/* Appends text with U+FFFD for NUL, which is legal in JSON, but some readers of the conversation end there. */
void read_blocks_clean(struct buf *out, struct str text);
void read_blocks_text(struct read_blocks *b, struct str text); /* any bytes */
void read_blocks_textf(struct read_blocks *b, const char *fmt, ...) printf_like(2, 3);
/* kind is "image" or "document", bytes become base64. words describes it. */
void read_blocks_media(struct read_blocks *b, const char *kind, const char *media_type, struct str bytes,
		       const char *words);
/* Gives the call its result; b is empty afterwards. Text alone needs no blocks. */
void read_blocks_finish(struct read_blocks *b, struct tool_call *call);
static inline void read_blocks_release(struct read_blocks *b)
{
	buf_release(&b->words);
	buf_release(&b->run);
	buf_release(&b->blocks);
}
