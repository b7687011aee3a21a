/* SPDX-License-Identifier: MIT
 * query_compact.h - a conversation that grows too long is summed up by the model, and goes on from the summary
 * (docs/internals/compact.md). */
#pragma once
#include "lib/base/buf.h"
#include "core/message/transcript.h"
#include "core/model/failure.h"

struct query;

enum compact_trigger { COMPACT_AUTO, COMPACT_MANUAL };
const char *compact_trigger_name(enum compact_trigger trigger); /* "auto", "manual" */

/* When, from settings and environment */
struct compact_policy {
	bool possible;  /* at all; otherwise nothing else counts */
	bool automatic; /* near the window, and when the server says that the conversation is too long */
	int64_t window; /* tokens at which it happens at the latest; 0: as the model's context says */
	double percent; /* the same in percent of what the context has for input; 0: not given */
};

/* What the owner of a query has to do with it. Each may be NULL; data is that of the query's config. */
struct compact_owner {
	/* Somebody may look first. True: query_compact_decided() follows. */
	bool (*before)(struct query *q, void *data);
	/* Adds what goes on beside the summary, as blocks of the user. */
	void (*keep)(struct query *q, struct transcript *out, void *data);
	/* It is done and on disk. True: query_compact_told() follows. */
	bool (*after)(struct query *q, void *data);
};

/* One that is under way */
struct compaction {
	enum compact_trigger trigger;
	enum {
		COMPACT_BEGINS,
		COMPACT_HELD,    /* before() looks */
		COMPACT_REFUSED, /* it said no */
		COMPACT_ASKS,
		COMPACT_SHOWN, /* after() looks */
		COMPACT_OVER,
	} phase;
	unsigned shortness;        /* how much of the history is left out of the request (compact_history.c) */
	bool is_last_resort;       /* the server does not take the conversation as it is */
	struct failure refusal;    /* of the server then; FAIL_NONE: its answer was cut at the end of the context */
	struct buf instructions;   /* of the user and of hooks; may be empty */
	struct buf why;            /* it was refused, or failed */
	struct transcript history; /* what the request sends */
	struct buf summary;
	int64_t tokens_before;
	uint64_t started_ms;
};

/* A turn that does nothing else; only when idle, and there is something to sum up. Leads to on_end. */
void query_compact(struct query *q, struct str instructions);
bool query_can_compact(const struct query *q); /* an answer is in the conversation */
/* For the owner. text is added to the instructions, or says why not. Too late does no harm. */
void query_compact_decided(struct query *q, bool go, struct str text);
void query_compact_told(struct query *q);
