/* SPDX-License-Identifier: MIT
 * answer.h - decodes the event stream of the Messages API into finished blocks.
 *
 * A block's bytes are assembled from the raw JSON of its deltas, not from decoded text, so thinking and signatures stay
 * byte for byte. Every block is complete, valid JSON. The sink gets it with the event behind its stop, which tells whether it
 * is the last one: then the stop reason and the usage are known too. */
#pragma once
#include "lib/io/sse.h"
#include "core/message/message.h"
#include "core/wire/failure.h"

struct answer;

/* Called from inside answer_feed. Slices are borrowed until return. */
struct answer_sink {
	void (*on_block)(void *data, struct segment *block);             /* takes block */
	void (*on_delta)(void *data, const char *name, struct str text); /* "text" or "thinking"; may be NULL */
	void (*on_event)(void *data, struct str json);                   /* every raw event; may be NULL */
};

enum answer_block { ANSWER_NO_BLOCK, ANSWER_WHOLE, ANSWER_TEXT, ANSWER_THINKING, ANSWER_INPUT };

struct answer {
	const struct answer_sink *sink;
	void *data;
	struct sse sse;
	struct json_reader reader;
	struct arena scratch; /* reset after each event */
	char message_id[72], model[96], stop_reason[40], stop_sequence[64];
	char refusal[200]; /* category and explanation of stop reason refusal; may be empty */
	struct usage usage;
	unsigned dropped;        /* blocks of thinking that the server took out of the request */
	char dropped_why[40];    /* of the last of them: prefix_binding_mismatch */
	bool started, ended;     /* message_start, message_stop were seen */
	enum answer_block block; /* what is being assembled */
	struct buf bytes;        /* its JSON so far, without the accumulating members */
	struct buf text;         /* raw JSON text, raw JSON thinking, or decoded tool input */
	struct buf signature, citations;
	uint16_t origin;        /* of its thinking; ORIGIN_NONE: not of the Messages API */
	bool unsigned_too;      /* thinking without a signature goes back as well */
	struct segment *held;   /* owned; a block that has stopped; NULL: none */
	struct failure failure; /* of an error event or a protocol break */
};

void answer_init(struct answer *a, const struct answer_sink *sink, void *data);
void answer_feed(struct answer *a, const char *p, size_t n); /* after the end or a failure it does nothing */
/* One event as JSON: for adapters of other APIs. */
void answer_event(struct answer *a, struct str json);
/* A non-streamed answer, one JSON object. False: not an answer. */
bool answer_whole(struct answer *a, struct str json);
/* The open text turns out to be thinking: that is what its block becomes, although its deltas were passed on as text. */
void answer_turn_into_thinking(struct answer *a);
void answer_end(struct answer *a); /* of the stream: passes the last block of a cut answer to the sink */
/* The end of the stream. True if the answer is complete: it has a stop reason. */
static inline bool answer_complete(const struct answer *a)
{
	return !a->failure.kind && a->started && a->stop_reason[0] && !a->block;
}
void answer_release(struct answer *a);
