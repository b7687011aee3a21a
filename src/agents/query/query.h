/* SPDX-License-Identifier: MIT
 * query.h - the agentic loop of one agent (docs/internals/query.md). */
#pragma once
#include "core/message/event.h"
#include "core/model/provider.h"
#include "core/model/governor.h"
#include "agents/query/slot.h"
#include "agents/query/query_compact.h"
#include "core/store/recorder.h"
#include "core/tool/tool.h"

#define QUERY_STATES(X) X(IDLE) X(ASK) X(GATE) X(STREAM) X(BACKOFF) X(TOOLS) X(COMPACT) X(ENDING) X(FINISH)
enum query_state {
#define X(s) QUERY_##s,
	QUERY_STATES(X)
#undef X
		QUERY_STATE_COUNT
};

/* How a turn ended */
enum query_end {
	QUERY_RUNNING, /* it has not */
	QUERY_DONE,
	QUERY_MAX_TURNS,
	QUERY_MODEL_ERROR, /* the API failed, or kept failing */
	QUERY_REFUSED,
	QUERY_EMPTY,   /* no text and no calls, twice */
	QUERY_CUT_OFF, /* repeatedly at the output limit, or paused too often */
	QUERY_CONTEXT_FULL,
	QUERY_CANCELLED,
	QUERY_HALTED,       /* a hook ended the turn */
	QUERY_BLOCKED,      /* a hook blocked the prompt */
	QUERY_REJECTED,     /* the prompt names a skill that cannot be used */
	QUERY_BUDGET,       /* the next request would cost more than is left */
	QUERY_DISK_ERROR,   /* the transcript cannot be written */
	QUERY_UNSTRUCTURED, /* no valid structured output; set by the owner */
};

struct query;

/* All borrowed, but head: keeps a reference */
struct query_config {
	struct loop *loop;
	struct endpoint *endpoint;
	struct head *head;
	const struct tool_set *tools;
	struct tool_env *env;
	struct tool_gate *gate;
	struct recorder *recorder;
	const char *session_id, *agent;
	const char *parent_agent; /* its id, "" for the main agent; NULL: this query is not an agent */
	const char *model;
	struct slot_pool *slots;    /* limits concurrent agents; NULL: no limit for this one */
	struct budget *budget;      /* NULL: none */
	const char *interrupt_note; /* added to the conversation after a cancelled turn; NULL: nothing */
	const char *reminder;       /* appended to every request, stored only if keeps_reminder; NULL: none */
	unsigned max_turns;         /* 0: no limit */
	unsigned parallel_calls;    /* 0: 10 */
	uint64_t retry_deadline_ms; /* per request; 0: 30 minutes */
	struct compact_policy compact;
	struct compact_owner compact_owner;
	event_fn *on_event;
	bool want_deltas, want_raw;                              /* emit EVENT_DELTA as text, or as raw API events */
	void (*on_usage)(void *data, const struct usage *usage); /* of each answer; may be NULL */
	/* A request is about to be made: query_set_head() and next_endpoint hold for it. May be NULL. */
	void (*on_request)(struct query *q, void *data);
	/* The calls of an answer are recorded and the next request has not been sent. True: query_batch_over() will
	 * follow. May be NULL. */
	bool (*on_batch)(struct query *q, void *data);
	/* The model cannot answer (failure_is_model_unavailable). True: a fallback was set with query_set_head() and
	 * next_endpoint, and the request is sent again. May be NULL. */
	bool (*on_unavailable)(struct query *q, void *data);
	void (*on_end)(struct query *q, void *data); /* a turn is over; from the loop; may start the next one */
	void *data;                                  /* of all of them */
};

/* struct notice with texts of its own */
struct query_notice {
	char *id, *about;
	bool mail, quiet;
	struct buf text;
};

/* A tool call of the current answer, in order */
struct query_call {
	struct query *query;
	char *id;               /* owned */
	struct tool_call *call; /* NULL once its result is recorded */
	struct segment *result; /* owned; set once it is recorded */
	bool is_done;
};

/* Token count reported with the last answer, and what the blocks of its request are. */
struct context_measure {
	int64_t tokens;         /* 0: none, or the server does not count */
	uint64_t bytes;         /* of the transcript then */
	int64_t prompt;         /* tokens of the request alone */
	uint32_t blocks;        /* of the transcript then */
	uint32_t prompt_blocks; /* of the request; of a fork before its first answer, what it shares */
	uint64_t text;          /* bytes of these without media and thinking */
	uint32_t media;         /* tokens of their media, estimated */
	float bytes_per_token;  /* of this model; 0: not known yet */
};

/* Adds what the blocks from prompt_blocks to count are. */
void context_measure_blocks(struct context_measure *m, const struct transcript *t, uint32_t count);

struct query {
	struct query_config config;
	struct transcript transcript;
	enum query_state state;
	struct kick kick;

	/* the turn */
	unsigned turn; /* requests answered in it */
	bool cancelled, paused, halted;
	bool satisfied; /* set by the owner: the turn may end without a text (structured output) */
	enum query_end end;
	struct failure failure; /* of QUERY_MODEL_ERROR */
	struct buf text;        /* of the last answer; the result of the turn */
	bool text_continues;    /* the next answer continues this one (cut at the output limit) */
	size_t text_from;       /* offset of the current answer in it */
	struct usage usage;     /* of all its requests */
	uint64_t started_ms, api_ms, asked_ms;
	char stop_reason[40];
	unsigned continuations, nudges, pauses;

	/* the request */
	struct model_call model;
	struct buf reminder; /* config.reminder as a block */
	struct governor_slot slot;
	struct agent_slot agent_slot;      /* taken by the owner before the first turn, if there are slots */
	struct budget_share share;         /* reserved for the request */
	struct fork_barrier *fork_barrier; /* reference; until the first request is answered */
	bool through_gate;                 /* passed it */
	bool request_over;                 /* fact: the model call reported */
	struct segment **arrived;          /* fact: received blocks not yet recorded; owned */
	size_t arrived_count, arrived_cap;
	bool answer_closed;   /* its last block is recorded, with its stop reason */
	uint32_t answer_from; /* first block of the answer in the transcript */
	uint32_t last_mark;
	unsigned attempt;
	uint64_t deadline_ms;
	struct timer timer;
	char (*shown)[UUID_LEN + 1]; /* uuids of the answer's frames */
	size_t shown_count, shown_cap;
	bool superseding; /* shown belongs to a discarded answer */

	/* the calls of the answer */
	struct query_call **calls;
	size_t call_count, call_cap;
	bool batch_reported, batch_held; /* waiting for query_batch_over() */

	struct compaction *compaction; /* owned; NULL: none is running */
	struct context_measure measured;
	bool told_dropped;         /* that the server took thinking out of a request */
	bool keeps_reminder;       /* it costs thinking when it is in one request only: it is stored */
	uint32_t reminded;         /* blocks of the transcript when it was stored last */
	bool compacted;            /* since the last answer, or attempted */
	unsigned compact_failures; /* in a row */
	unsigned compact_refills;  /* in a row and in this turn: the context filled up again after a few answers */
	unsigned answers;          /* since the last one began */

	struct head *next_head; /* replaces config.head with the next request; owned; NULL: none */
	const char *next_model;
	struct endpoint *next_endpoint; /* the same for config.endpoint; NULL: none */
	struct query_notice *notices;
	uint32_t notice_count;
	size_t notice_bytes;                            /* of their texts */
	const char *mail_before, *mail_after;           /* around mail of one request; NULL: nothing; borrowed */
	struct buf mail_ids;                            /* of mail of this run, with such words; each has its NUL */
	void (*trace)(struct query *q, const char *to); /* called at each change of state; may be NULL */
};

static inline void query_kick(struct query *q)
{
	loop_kick(q->config.loop, &q->kick);
}

void query_init(struct query *q, const struct query_config *config);
void query_release(struct query *q); /* only when idle */

/* Records and appends a line of the user's side; only when idle. Takes its blocks, also on failure. */
int query_add_line(struct query *q, const struct user_line *line, struct err *err);
static inline int query_add_user(struct query *q, struct segment **blocks, size_t count, bool meta, struct err *err)
{
	return query_add_line(q, &(struct user_line){ .blocks = blocks, .count = count, .meta = meta }, err);
}
/* Takes the head, which is used from the next request on. model is borrowed while the head is in use. */
static inline void query_set_head(struct query *q, struct head *head, const char *model)
{
	head_unref(q->next_head);
	q->next_head = head;
	q->next_model = model;
}
/* Restores the calls of a loaded session's last answer. run: a read-only call without a stored result runs again. Any
 * other call without a result gets one that says that it may or may not have run. */
int query_restore_call(struct query *q, struct str id, struct str name, struct str input, struct segment *result,
		       bool run, struct err *err);
void query_start(struct query *q);    /* a turn: leads to on_end exactly once */
void query_continue(struct query *q); /* continues the turn that has just ended */
/* It is idle, and what was to come cannot be written. */
static inline void query_end_disk(struct query *q, const struct err *err)
{
	q->end = QUERY_DISK_ERROR;
	snprintf(q->failure.text, sizeof q->failure.text, "%s", err->text);
}
static inline void query_cancel(struct query *q) /* any time, any number of times */
{
	q->cancelled = true;
	query_kick(q);
}
static inline void query_halt(struct query *q,
			      struct str reason) /* ends the turn when the calls of its answer are done */
{
	q->halted = true;
	snprintf(q->failure.text, sizeof q->failure.text, STR_FMT, STR_ARG(reason));
}
static inline void query_batch_over(struct query *q) /* on_batch is done; ignored when late */
{
	q->batch_held = false;
	query_kick(q);
}
void query_pause(struct query *q, bool on); /* back-pressure: no new request, no bytes from the running one */
/* Queues a text for the next request; all queued texts form one message. One that is about the same and waits is replaced. */
void query_put_notice(struct query *q, const struct notice *notice);
static inline void query_notice(struct query *q, const char *id, struct str text)
{
	query_put_notice(q, &(struct notice){ .id = id, .text = text });
}
const char *query_pending_notice(const struct query *q, const char *about); /* id of that notice; NULL: none waits */
static inline bool query_wants_turn(const struct query *q)                  /* something waits that begins a turn */
{
	for (uint32_t i = 0; i < q->notice_count; i++)
		if (!q->notices[i].quiet)
			return true;
	return false;
}
