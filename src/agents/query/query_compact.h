/* SPDX-License-Identifier: MIT
 * query_compact.h - compaction: replaces a long conversation by the model's summary (docs/internals/compact.md). */
#pragma once
#include "lib/base/buf.h"
#include "core/message/transcript.h"
#include "core/wire/failure.h"

struct query;

enum compact_trigger { COMPACT_AUTO, COMPACT_MANUAL };
static inline const char *compact_trigger_name(enum compact_trigger trigger) /* "auto", "manual" */
{
	return trigger == COMPACT_AUTO ? "auto" : "manual";
}

/* A window that a file chooses is no smaller: tools and instructions alone must fit into it, or each turn pays for a summary. */
enum { COMPACT_WINDOW_LEAST = 20000 };

/* When, from settings and environment */
struct compact_policy {
	bool possible;  /* false: never compact */
	bool automatic; /* near the window, and when the server says that the conversation is too long */
	int64_t window; /* threshold in tokens; 0: derived from the model's context */
	double percent; /* threshold in percent of the input part of the context; 0: not set */
};

/* Callbacks of the query's owner. Each may be NULL; data is that of the query's config. */
struct compact_owner {
	/* Before it starts (hooks). True: query_compact_decided() follows. */
	bool (*before)(struct query *q, void *data);
	/* Appends context that is kept beside the summary, as user blocks. */
	void (*keep)(struct query *q, struct transcript *out, void *data);
	/* The summary is on disk (hooks). True: query_compact_reported() follows. */
	bool (*after)(struct query *q, void *data);
};

/* A running compaction */
struct compaction {
	enum compact_trigger trigger;
	enum {
		COMPACT_BEGINS,
		COMPACT_HELD,    /* waiting for before() */
		COMPACT_REFUSED, /* it said no */
		COMPACT_ASKS,
		COMPACT_SHOWN, /* waiting for after() */
		COMPACT_OVER,
	} phase;
	unsigned shortness;        /* how much of the history is left out of the request (compact_history()) */
	bool is_last_resort;       /* the server refused the conversation as too long */
	struct failure refusal;    /* the server's failure then; FAIL_NONE: its answer reached the end of the context */
	struct buf instructions;   /* of the user and of hooks; may be empty */
	struct buf why;            /* why it was refused or failed */
	struct transcript history; /* what the request sends */
	struct buf summary;
	int64_t tokens_before;
	uint64_t started_ms;
};

/* A turn that only compacts. Only when idle and there is something to compact. Leads to on_end. */
void query_compact(struct query *q, struct str instructions);
bool query_can_compact(const struct query *q); /* the conversation has an answer */
/* For the owner. text is added to the instructions, or gives the reason for refusing. Ignored when late. */
void query_compact_decided(struct query *q, bool go, struct str text);
void query_compact_reported(struct query *q);
