/* SPDX-License-Identifier: MIT
 * engine_int.h - the inside of the engine: one request on its way to a reply (struct asking), and the reply.
 *
 *     engine.c   checks, counts, limits      match.c   finds the rule       expand.c   fills in the {{names}}
 *     answer.c   makes the reply             reply.c   hands out its steps  reply_event.c   writes events and messages
 *     chat_request.c, reply_chat.c   the same in the words of chat completions */
#pragma once
#include "core/scenario/digest.h"
#include "core/scenario/prompt_cache.h"
#include "core/scenario/scenario.h"

enum { RECENT_REQUESTS = 2048 };

struct rule_state {
	uint64_t seen;    /* requests for which the conditions of the request held */
	uint64_t matched; /* answers given */
};

/* What the cache did for one request */
struct recent {
	uint64_t number, prefix_bytes, read_bytes;
};

struct counters {
	uint64_t requests, answered, invalid, limited, unmatched;
	uint64_t in_flight_max, bytes_in, bytes_out;
	uint64_t prefix_bytes, read_bytes;
	struct recent recent[RECENT_REQUESTS]; /* a ring */
	uint64_t recent_count;
	struct err last_invalid;
};

/* One block of an answer, its text filled in */
struct reply_block {
	const struct block *block; /* borrowed from the scenario */
	struct str text;           /* filler: only n is set */
};

struct engine {
	const struct scenario *scenario;
	struct checker *checker;
	struct prompt_cache cache;
	struct rule_state *rules;
	struct counters counters;
	uint64_t in_flight;
	uint64_t given;   /* requests since engine_new: ids depend on it */
	uint64_t random;  /* state of the generator */
	double rate_left; /* requests that may come at once */
	uint64_t rate_at_ms;
	uint64_t now_ms; /* of the last request */

	bool chat, wants_usage; /* the request is one for chat completions */
	struct json_reader chat_reader;
	struct buf chat_body; /* in the words of the Messages API; borrowed by the request */

	struct arena scratch; /* of one request, like the two below */
	struct buf text;
	struct reply_block *blocks;
	size_t block_count, block_cap;
};

struct captured {
	struct captured *next;
	const struct capture *capture;
	struct str text;
};

/* One request, while engine_ask() works on it */
struct asking {
	struct engine *engine;
	const struct engine_request *ask;
	const struct request *request;
	uint64_t number; /* of the request in this engine */
	uint64_t n;      /* of the request for its rule */
	uint64_t i;      /* of the block in its repeat */
	struct captured *captured;
};

void expand(const struct asking *a, const struct text_template *t, struct buf *out);

struct usage {
	uint64_t input, output, cache_read, cache_write;
	bool long_lived; /* what is written lives for an hour */
};

enum stage {
	STAGE_START,
	STAGE_BLOCK_START,
	STAGE_DELTA,
	STAGE_SIGNATURE,
	STAGE_BLOCK_STOP,
	STAGE_MESSAGE_DELTA,
	STAGE_USAGE, /* chat completions only: what was used comes behind the end */
	STAGE_MESSAGE_STOP,
	STAGE_OVER,
};

/* One allocation: the struct, its arrays and its texts, so that ten thousand that wait for their latency cost little. */
struct reply {
	struct engine *engine;
	const struct rule *rule; /* NULL: the body says all */
	struct reply_head head;
	struct str model, body;
	const struct reply_block *blocks;
	size_t block_count;
	size_t first_thinking; /* block; SIZE_MAX: the answer has none */
	struct usage usage;
	struct cache_write writes[REQUEST_MAX_MARKS];
	unsigned write_count;
	bool chat;           /* written as chat completions */
	bool wants_usage;    /* of them: the client wants to be told */
	bool counted;        /* in flight */
	bool message;        /* an answer of the model; otherwise body or garbage */
	uint64_t id_a, id_b; /* what the ids of this answer are made of */
	uint64_t random;

	enum stage stage; /* what comes next; of a reply without events only START and OVER */
	size_t block;
	uint64_t at;                                /* bytes of the block, or of garbage, that are made */
	uint64_t events, plain_events, calls, made; /* so far; plain: without pings; made: bytes */
	bool pinged;                                /* the ping before the next event is made */
	bool faulty;                                /* the fault comes as soon as what is made is handed out */
	uint64_t delay_ms;                          /* before the next step */
	struct buf out;                             /* made, handed out up to out_at */
	size_t out_at;
};

/* answer.c */
struct reply *answer_rule(struct asking *a, const struct rule *rule, const struct cache_look *look);
struct reply *answer_error(struct engine *e, unsigned status, const char *header, const char *fmt, ...)
	printf_like(4, 5);
struct reply *answer_json(struct engine *e, struct str body);

/* reply_chat.c: the same as reply_event.c for chat completions. */
void chat_event_next(struct reply *r, struct buf *out);
void chat_event_error(const struct fault *fault, struct buf *out);
void chat_error(struct buf *out, struct str type, struct str message);
void chat_json(const struct reply *r, struct buf *out);

/* reply_event.c: what both have */
void reply_add_filler(struct buf *out, uint64_t at, uint64_t n);
size_t reply_delta_len(const struct reply *r, const struct reply_block *b);
const char *reply_tool_id(char out[DIGEST_ID_MAX], const struct reply *r, size_t block);
const char *reply_stop_reason(const struct reply *r);
/* The next event of r->stage, and on to the next stage. */
void event_next(struct reply *r, struct buf *out);
void event_error(const struct fault *fault, struct buf *out);
void message_json(const struct reply *r, struct buf *out);
