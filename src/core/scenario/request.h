/* SPDX-License-Identifier: MIT
 * request.h - checks a request body against the rules of the Messages API and extracts what the engine needs.
 *
 * Stricter than the API on purpose: roles alternate, a tool_use names an offered tool, thinking is returned unchanged,
 * unknown fields are refused, the last message is the user's. */
#pragma once
#include "lib/json/json.h"
#include "core/scenario/scenario.h"

enum { REQUEST_LIMIT_BYTES = 32 << 20, REQUEST_MAX_MARKS = 4 };
enum { CACHE_TTL_SHORT_MS = 5 * 60 * 1000, CACHE_TTL_LONG_MS = 60 * 60 * 1000 };

/* Of a request, up to and including one block; cache_control does not count */
struct prefix {
	uint64_t hash;
	uint64_t bytes;
};

/* One cache_control */
struct mark {
	size_t block;
	uint64_t ttl_ms;
};

/* Borrows from the checker and the body, until the next check */
struct request {
	const struct json *system, *messages;
	const struct json *prompt; /* the message that began the exchange: the last user message without tool results */
	const struct json *last;   /* the last message */
	struct str model;
	bool stream;
	uint64_t turn;                 /* 1 + assistant messages since the prompt */
	const struct prefix *prefixes; /* in the order tools, system, messages */
	size_t prefix_count;
	struct mark marks[REQUEST_MAX_MARKS];
	unsigned mark_count;
};

enum request_flags {
	REQUEST_COUNT_ONLY = 1 << 0,    /* for count_tokens: max_tokens is not needed */
	REQUEST_UNKNOWN_TOOLS = 1 << 1, /* tool_use may name a tool that is not offered */
	REQUEST_SEALED = 1 << 3,        /* of other APIs too: reasoning comes back before its calls */
	REQUEST_PAUSES = 1 << 2,        /* the last message may be the assistant's: its turn was paused */
};

struct checker; /* tables of a check, reused */
struct checker *checker_new(void);
void checker_free(struct checker *c);
/* -ERR_PARSE: the text is the message of a 400; -ERR_LIMIT: of a 413. Borrows the body. */
int request_check(struct checker *c, struct str body, unsigned flags, struct request *ret, struct err *err);

/* The texts of a source, decoded into the arena where needed. */
struct texts {
	struct str *items;
	size_t n;
};
struct texts request_texts(const struct request *r, struct source source, struct arena *arena);
