/* SPDX-License-Identifier: MIT
 * scenario.h - a scenario file after parsing: settings and rules, immutable. The syntax is in scenario_parse.c.
 * Everything is in the scenario's arena; lists are in file order. */
#pragma once
#include "lib/base/arena.h"
#include "core/scenario/engine.h"

struct range {
	uint64_t from, to; /* both included; all zero: not given */
};

/* A part of the request that a condition, a capture or a template reads. */
enum source_kind {
	SOURCE_PROMPT = 1, /* texts of the user message that began the exchange */
	SOURCE_LAST,       /* texts and tool results of the last message */
	SOURCE_SYSTEM,
	SOURCE_LAST_RESULT, /* the last tool result of the last message */
	SOURCE_RESULT,      /* the K-th tool result since the prompt */
};
struct source {
	enum source_kind kind;
	uint64_t index; /* SOURCE_RESULT: K, from 1 */
};

enum condition_kind { CONDITION_AGENT = 1, CONDITION_MODEL, CONDITION_TURN, CONDITION_CONTAINS, CONDITION_LACKS };
struct condition {
	struct condition *next;
	enum condition_kind kind;
	struct source source; /* contains, lacks */
	struct range range;   /* turn */
	struct str text;      /* agent, model, contains, lacks */
};

enum capture_end { CAPTURE_WORD = 1, CAPTURE_LINE, CAPTURE_UNTIL };
struct capture {
	struct capture *next;
	struct str name;
	struct source source;
	struct str mark; /* the value begins behind it */
	enum capture_end end;
	struct str until; /* CAPTURE_UNTIL */
};

enum piece_kind {
	PIECE_LITERAL = 1,
	PIECE_N, /* how often the rule matched so far */
	PIECE_I, /* which one of a `repeat` */
	PIECE_TURN,
	PIECE_REQUEST, /* number of the request in this engine */
	PIECE_LINES,   /* lines of `source` */
	PIECE_AGENT,
	PIECE_MODEL,
	PIECE_SOURCE, /* text of `source` */
	PIECE_CAPTURE,
};
struct piece {
	struct piece *next;
	enum piece_kind kind;
	bool quoted;        /* stands inside a JSON string: its value is escaped */
	size_t limit_bytes; /* the value is cut here, between characters; 0: whole */
	struct str text;    /* literal */
	struct source source;
	const struct capture *capture;
};
struct text_template {
	struct piece *pieces;
	bool constant; /* at most one piece, a literal: needs no expansion */
};

enum block_kind { BLOCK_TEXT = 1, BLOCK_THINKING, BLOCK_REDACTED, BLOCK_CALL, BLOCK_FILLER, BLOCK_GIVEN };
struct block {
	struct block *next;
	enum block_kind kind;
	struct str name;           /* call: the tool */
	struct text_template text; /* call: the input as JSON; given: all of the block */
	uint64_t filler_bytes;
	bool whole;      /* filler: all in one event, so in one line */
	uint64_t repeat; /* at least 1 */
};

enum fault_kind { FAULT_NONE, FAULT_CUT, FAULT_STALL, FAULT_ERROR };
enum fault_place { AT_BYTE = 1, AFTER_EVENT, AFTER_CALL };
struct fault {
	enum fault_kind kind;
	enum fault_place place;
	uint64_t at;
	struct str type, message; /* FAULT_ERROR: an error event */
};

/* How an answer is spread over time and events; a rule begins with the file's */
struct pace {
	struct range latency_ms, delay_ms, drip_ms;
	bool drip;             /* one byte a step */
	uint64_t chunk_bytes;  /* of a delta; 0: the whole block */
	uint64_t chunk_pieces; /* deltas of a block; 0: not given */
	uint64_t ping_every;   /* a ping before every K-th event; 0: none */
};

struct usage_override {
	int64_t input, output, cache_read, cache_write; /* -1: as estimated */
	int64_t searches;                               /* web searches by the server; -1: not reported */
};

struct rule {
	struct rule *next;
	size_t index;
	struct str name;
	unsigned line;

	struct condition *conditions;
	struct capture *captures;
	struct range nth;
	uint64_t every;
	double chance; /* 0..1; negative: not given */

	struct block *blocks;
	bool empty;       /* an answer without blocks is intended */
	const char *stop; /* NULL: tool_use or end_turn */
	struct str stop_category, stop_explanation, stop_sequence;
	struct usage_override usage;
	struct pace pace;

	unsigned status; /* 0: 200 */
	struct str error_type, error_message;
	const char **headers; /* "name: value" */
	size_t header_count;
	struct str content_type; /* empty: as it should be */
	struct str body;         /* instead of an answer; p is NULL when not given */
	uint64_t garbage_bytes;  /* instead of an answer */
	struct fault fault;
};

struct scenario {
	struct arena arena;
	struct rule *rules;
	size_t rule_count;
	struct pace pace;
	uint64_t seed;
	uint64_t capacity;   /* requests in flight; 0: any number */
	uint64_t rate_per_s; /* 0: any number */
	uint64_t retry_after_s;
	bool cache;
	uint64_t cache_min_tokens;
	bool unknown_tools; /* a tool_use may name a tool that the request does not offer */
	bool sealed;        /* reasoning of other APIs must come back before its calls */
	bool pauses;        /* some rule stops with pause_turn: an assistant message may then be the last */
};
