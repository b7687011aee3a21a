/* SPDX-License-Identifier: MIT
 * segment.h - one content block as JSON bytes: immutable, shared by reference (docs/internals/transcript.md). */
#pragma once
#include "lib/base/str.h"
#include "lib/json/json.h"

enum segment_kind {
	SEGMENT_TEXT,
	SEGMENT_THINKING,
	SEGMENT_TOOL_USE,
	SEGMENT_TOOL_RESULT,
	SEGMENT_OTHER,
	SEGMENT_UNSENT, /* thinking without a signature: shown and recorded; sent only to servers that want it back */
};

struct segment {
	uint32_t refs;
	uint32_t len;
	uint8_t kind;  /* enum segment_kind */
	bool markable; /* may carry cache_control: all but thinking */
	char bytes[];  /* a JSON object; a mark goes in before its last byte */
};

/* json: one complete JSON object, valid UTF-8, trusted. Copies it. Returns owned with one reference. */
struct segment *segment_new(enum segment_kind kind, struct str json);
struct segment *segment_ref(struct segment *s);
void segment_unref(struct segment *s);
static inline struct str segment_json(const struct segment *s)
{
	return (struct str){ s->bytes, s->len };
}

/* A block of an answer or a file. Its bytes are kept, except that lone surrogate escapes, which the API refuses, become
 * \ufffd and cache marks of other programs are removed. NULL if it is not an object with a type, or an empty text
 * block. */
struct segment *segment_from_json(const struct json *block);

/* Blocks of our own. Text is any bytes; invalid UTF-8 is repaired. */
struct segment *segment_text(struct str text);
struct segment *segment_tool_result(struct str call_id, struct str text, bool is_error);
/* blocks: a JSON array of content blocks, trusted to be valid. */
struct segment *segment_tool_blocks(struct str call_id, struct str blocks, bool is_error);
/* The JSON string of a block that is only a text; empty: it is more. Borrowed. */
struct str segment_plain_text(const struct segment *s);
/* The result of a call that the end of the program interrupted. */
struct segment *segment_lost_result(struct str call_id);
