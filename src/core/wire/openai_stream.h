/* SPDX-License-Identifier: MIT
 * openai_stream.h - converts chat-completions chunks to Messages API events, for answer.h. Text and reasoning pass at
 * once; calls after the finish reason, because their pieces may interleave (docs/internals/openai.md). */
#pragma once
#include "lib/io/sse.h"
#include "core/wire/answer.h"
#include "core/message/transcript.h"

struct chat_name;

struct chat_call {
	int64_t index; /* -1: the server gave none */
	struct buf id, name, arguments;
};

/* The calls of an answer, assembled from pieces that may interleave. A zeroed struct is empty. */
struct chat_calls {
	struct chat_call *list;
	uint32_t count, cap;
};

struct chat_stream {
	struct answer *answer;            /* borrowed: gets the events */
	const struct transcript *history; /* borrowed: call ids in use; NULL: none */
	const struct chat_name *names;    /* borrowed: tools that were sent under another name */
	uint64_t request_bytes;           /* for an estimate of the usage */
	struct sse sse;
	struct json_reader reader;
	struct arena scratch; /* reset after each chunk */
	struct buf event;
	enum { CHAT_NO_BLOCK, CHAT_BLOCK_TEXT, CHAT_BLOCK_THINKING, CHAT_BLOCK_CALL } open;
	unsigned blocks; /* blocks so far: the index of the next one */
	struct chat_calls calls;
	const char *stop_reason; /* Messages API stop reason; NULL: none yet */
	struct buf refusal;      /* its own words */
	struct usage usage;
	bool has_usage, over;
	uint64_t answer_bytes; /* so far */
};

void chat_stream_init(struct chat_stream *s, struct answer *answer, const struct transcript *history,
		      uint64_t request_bytes);
void chat_stream_feed(struct chat_stream *s, const char *p, size_t n); /* after a failure it does nothing */
/* A non-streamed answer, one JSON object. False: not an answer. */
bool chat_stream_whole(struct chat_stream *s, struct str json);
/* The end of the stream: closes an answer that has a finish reason, with or without [DONE]. */
void chat_stream_end(struct chat_stream *s);
void chat_stream_release(struct chat_stream *s);
