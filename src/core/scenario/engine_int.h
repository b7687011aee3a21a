/* SPDX-License-Identifier: MIT
 * engine_int.h - internals of the engine: one request being answered (struct asking), and the reply.
 *
 *     engine.c   checks, limits, finds the rule     template.c      fills in the {{names}}
 *     answer.c   makes the reply and its steps      reply_event.c   writes events and messages */
#pragma once
#include "lib/base/map.h"
#include "core/scenario/reply.h"

enum { RECENT_REQUESTS = 2048 };

struct rule_state {
	uint64_t seen;    /* requests that met the conditions */
	uint64_t matched; /* answers given */
};

/* Cache use of one request */
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

struct cache_look {
	uint64_t read_bytes;   /* found */
	uint64_t prefix_bytes; /* up to the last mark that is long enough */
	uint64_t total_bytes;
	struct cache_write writes[REQUEST_MAX_MARKS];
	unsigned write_count;
};

struct engine {
	const struct scenario *scenario;
	struct checker *checker;
	struct map cache;      /* from the hash of a prefix to the time at which it expires, as a pointer */
	size_t cache_sweep_at; /* entries, when those that expired are removed */
	struct rule_state *rules;
	struct counters counters;
	uint64_t in_flight;
	uint64_t given;   /* requests since engine_new: ids depend on it */
	uint64_t random;  /* state of the generator */
	double rate_left; /* burst capacity */
	uint64_t rate_at_ms;
	uint64_t now_ms; /* of the last request */

	const struct dialect *const *dialects; /* NULL: none */
	const struct dialect *dialect;         /* of the request */
	struct translation translation;

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

/* answer.c */
struct reply *answer_rule(struct asking *a, const struct rule *rule, const struct cache_look *look);
struct reply *answer_error(struct engine *e, unsigned status, const char *header, const char *fmt, ...)
	printf_like(4, 5);
struct reply *answer_json(struct engine *e, struct str body);

/* reply_event.c */
/* Writes the next event of r->stage and advances the stage. */
void event_next(struct reply *r, struct buf *out);
void event_error(struct reply *r, const struct fault *fault);
void message_json(const struct reply *r, struct buf *out);
