/* SPDX-License-Identifier: MIT
 * message.h - parts of a conversation: content blocks (JSON bytes, immutable, shared by reference; docs/internals/transcript.md),
 * heads, usage, translations. */
#pragma once
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "lib/base/arena.h"

/* The APIs that requests are translated to; each has its own slot in heads and packed chunks */
enum translation_slot { TRANSLATION_CHAT, TRANSLATION_RESPONSES, TRANSLATION_GEMINI, TRANSLATIONS };

/* Part of a request (a head, a packed chunk, a tail) translated to another API, as a sequence of pieces. A
 * piece is constant text, a slice of the source, or bytes in the translation's arena. Slices are not copied, so the
 * source must outlive the translation (docs/internals/wires.md). */
struct translation {
	struct arena arena;
	struct str *pieces;
	size_t count, cap;
	uint64_t size;     /* of all pieces, in bytes */
	uint64_t optional; /* bytes of those that only some servers get */
	int state;         /* the translator's state at the end */
	const void *facts; /* the translator's data, in the arena; may be NULL */
};

void translation_free(struct translation *t); /* t may be NULL */
/* Borrows the piece while the translation lives. Ignores an empty one. */
void translation_add(struct translation *t, struct str piece);
static inline void translation_add_optional(struct translation *t, struct str piece)
{
	translation_add(t, piece);
	t->optional += piece.n;
}

void translation_append(struct translation *t, const struct translation *other); /* its pieces, not its arena */

enum segment_kind {
	SEGMENT_TEXT,
	SEGMENT_THINKING,
	SEGMENT_TOOL_USE,
	SEGMENT_TOOL_RESULT,
	SEGMENT_OTHER,
	SEGMENT_UNSENT, /* thinking without a signature, or with a seal of another API ("responses:..."): shown and
			   recorded; sent only to servers that want it back */
};

/* The provider and model that a block of thinking came from, as a number of two bytes */
enum { ORIGIN_NONE, ORIGIN_UNKNOWN, ORIGIN_FIRST, ORIGIN_SEVERAL = UINT16_MAX };

struct segment {
	uint32_t refs;
	uint32_t len;
	uint8_t kind;    /* enum segment_kind */
	bool markable;   /* may carry cache_control: all but thinking */
	uint16_t origin; /* of thinking; ORIGIN_NONE: it is none */
	char bytes[];    /* a JSON object; a mark goes in before its last byte */
};

/* json: one complete JSON object, valid UTF-8, trusted. Copies it. Returns owned with one reference. */
struct segment *segment_new(enum segment_kind kind, struct str json);
static inline struct segment *segment_ref(struct segment *s)
{
	s->refs++;
	return s;
}

static inline void segment_unref(struct segment *s)
{
	if (s && --s->refs == 0)
		free(s);
}

static inline struct str segment_json(const struct segment *s)
{
	return (struct str){ s->bytes, s->len };
}

/* A block of an answer or a file. Its bytes are kept, except that lone surrogate escapes, which the API refuses, become
 * \ufffd and cache marks of other programs are removed. NULL if it is not an object with a type, or an empty text
 * block. */
struct segment *segment_from_json(const struct json *block);

/* Thinking of the Messages API goes back to that provider and model, and to no other, also if it is not signed. Ignores other blocks. */
void segment_set_origin(struct segment *s, uint16_t origin);

/* Blocks of our own. Text is any bytes; invalid UTF-8 is repaired. */
struct segment *segment_text(struct str text);
struct segment *segment_tool_result(struct str call_id, struct str text, bool is_error);
/* blocks: a JSON array of content blocks, trusted to be valid. */
struct segment *segment_tool_blocks(struct str call_id, struct str blocks, bool is_error);
/* The JSON string of a block that is only a text; empty: it is more. Borrowed. */
struct str segment_plain_text(const struct segment *s);
/* The result of a call that the end of the program interrupted. */
struct segment *segment_lost_result(struct str call_id);

/* Text interned by content: the part of a request before its messages (model, system, tools). Agents with the same
 * head share one copy, and so the same prefix bytes. */
struct head_pool {
	struct map heads; /* bytes -> struct head */
};

enum cache_marks {
	MARKS_USUAL,
	MARKS_HOUR,
	MARKS_NONE
}; /* of requests of the Messages API: for five minutes, an hour */

struct head {
	struct head_pool *pool; /* borrowed: outlives its heads */
	uint32_t refs;
	enum cache_marks marks;
	struct str bytes;                               /* up to and including the bracket that opens the messages */
	struct translation *translations[TRANSLATIONS]; /* owned; made at the first use by that API; NULL: none */
	void *hash; /* of signatures (core/model/http_endpoint.c); freed with it; NULL: none */
};

/* Copies the bytes if they are new. Returns a reference. */
struct head *head_intern(struct head_pool *pool, struct str bytes);
static inline struct head *head_ref(struct head *h)
{
	h->refs++;
	return h;
}

void head_unref(struct head *h);
/* A head ends inside its list of messages. Parses a closed copy in the arena. NULL: not JSON. */
const struct json *head_parse(struct json_reader *reader, struct arena *a, struct str bytes);
void head_pool_release(struct head_pool *pool); /* all heads must be gone; asserted */

/* Tokens of a request, as the API reports them. */
struct usage {
	int64_t input, output, cache_read, cache_write; /* total input is input + cache_read + cache_write */
	int64_t cache_write_5m, cache_write_1h;         /* parts of cache_write, if reported */
	int64_t web_searches;
	double cost_usd; /* by the server's own count (OpenRouter, xAI); 0: it says none */
	bool estimated;  /* not reported by the server: includes estimates from bytes */
};

/* False: v is not a number of tokens. Sums of those that are never overflow. */
bool usage_count(const struct json *v, int64_t *ret_tokens);
/* Overwrites each figure present in the object: message_start has the first, message_delta the final ones. */
void usage_merge(struct usage *u, const struct json *object);
void usage_add(struct usage *sum, const struct usage *u);
void usage_write(struct json_out *w, const struct usage *u); /* as a value: {"input_tokens":...} */
