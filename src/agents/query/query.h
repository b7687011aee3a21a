/* SPDX-License-Identifier: MIT
 * query.h - the agentic loop of one agent (docs/internals/query.md). */
#pragma once
#include "core/message/event.h"
#include "core/model/provider.h"
#include "core/model/budget.h"
#include "agents/query/fork_gate.h"
#include "agents/query/query_compact.h"
#include "agents/query/slot.h"
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
	QUERY_CUT_OFF, /* at the output limit, again and again; or paused without end */
	QUERY_CONTEXT_FULL,
	QUERY_CANCELLED,
	QUERY_HALTED,       /* a hook ended the turn */
	QUERY_BLOCKED,      /* a hook did not let the prompt through */
	QUERY_REJECTED,     /* the prompt names a skill that cannot be used */
	QUERY_BUDGET,       /* the next request would cost more than is left */
	QUERY_DISK_ERROR,   /* the transcript cannot be written */
	QUERY_UNSTRUCTURED, /* no answer in the form that was asked for; set by the owner */
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
	const char *model;
	struct slot_pool *slots;    /* of the agents that may be at work at a time; NULL: no limit for this one */
	struct budget *budget;      /* NULL: none */
	const char *interrupt_note; /* told to the model when a turn was cancelled; NULL: nothing */
	const char *reminder;       /* sent behind the last block of every request, not kept; NULL: none */
	unsigned max_turns;         /* 0: no limit */
	unsigned parallel_calls;    /* 0: 10 */
	uint64_t retry_deadline_ms; /* per request; 0: 30 minutes */
	struct compact_policy compact;
	struct compact_owner compact_owner;
	event_fn *on_event;
	bool want_deltas, want_raw;                              /* EVENT_DELTA as text; as the API's own events */
	void (*on_usage)(void *data, const struct usage *usage); /* of each answer; may be NULL */
	/* The calls of an answer are done and recorded, and nothing is sent yet. True: query_batch_over() will follow. May be
	 * NULL. */
	bool (*on_batch)(struct query *q, void *data);
	/* The model cannot answer (failure_is_of_model). True: query_set_head() and query_set_endpoint() have named another one,
	 * which is asked instead. May be NULL. */
	bool (*on_unavailable)(struct query *q, void *data);
	void (*on_end)(struct query *q, void *data); /* a turn is over; from the loop; may start the next one */
	void *data;                                  /* of all of them */
};

/* A text that waits to be told to the model: something ended in the background */
struct query_notice {
	char *id; /* owned; recorded with the message, so that it is known to be delivered; NULL: none */
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

/* What the server counted with the last answer */
struct context_measure {
	int64_t tokens;  /* 0: there was none, or it does not count */
	uint64_t bytes;  /* of the transcript then */
	uint32_t blocks; /* the same */
};

struct query {
	struct query_config config;
	struct transcript transcript;
	enum query_state state;
	struct kick kick;

	/* the turn */
	unsigned turn; /* requests answered in it */
	bool cancelled, paused, halted;
	bool satisfied; /* query_satisfy() */
	enum query_end end;
	struct failure failure; /* of QUERY_MODEL_ERROR */
	struct buf text;        /* of the last answer; the result of the turn */
	bool text_goes_on;      /* the next answer continues this one (cut at the output limit) */
	size_t text_from;       /* where the current answer's part of it begins */
	struct usage usage;     /* of all its requests */
	uint64_t started_ms, api_ms, asked_ms;
	char stop_reason[40];
	unsigned continuations, nudges, pauses;

	/* the request */
	struct model_call model;
	struct buf reminder; /* config.reminder as a block */
	struct governor_slot slot;
	struct agent_slot agent_slot; /* taken by the owner before the first turn, if there are slots */
	struct budget_share share;    /* reserved for the request */
	struct fork_gate *fork_gate;  /* reference; until the first request is answered */
	bool through_gate;            /* it let us pass */
	bool request_over;            /* fact: the model call reported */
	struct segment **arrived;     /* fact: blocks that wait to be recorded; owned */
	uint32_t arrived_count, arrived_cap;
	uint32_t answer_from; /* first block of the answer in the transcript */
	uint32_t last_mark;
	unsigned attempt;
	uint64_t deadline_ms;
	struct timer timer;
	char (*shown)[UUID_LEN + 1]; /* uuids of the answer's frames */
	uint32_t shown_count, shown_cap;
	bool superseding; /* shown belongs to an answer that never happened */

	/* the calls of the answer */
	struct query_call **calls;
	uint32_t call_count, call_cap;
	bool batch_told, batch_held; /* on_batch was asked; it looks at them */

	struct compaction *compaction; /* owned; NULL: none is under way */
	struct context_measure measured;
	bool compacted;            /* since the last answer, or tried */
	unsigned compact_failures; /* in a row */
	unsigned compact_refills;  /* in a row and in this turn: full again after a few answers */
	unsigned answers;          /* since the last one began */

	struct head *next_head; /* takes the place of config.head with the next request; owned; NULL: none */
	const char *next_model;
	struct endpoint *next_endpoint; /* the same for config.endpoint; NULL: none */
	struct query_notice *notices;
	uint32_t notice_count;
	void (*trace)(struct query *q, const char *to); /* each change of state; NULL: nobody looks */
};

void query_init(struct query *q, const struct query_config *config);
void query_release(struct query *q); /* only when idle */

/* Records and appends user blocks; only when idle. Takes the segments, also on failure. */
int query_add_user(struct query *q, struct segment **blocks, size_t count, bool meta, struct err *err);
/* The same for a whole line; takes its blocks. */
int query_add_line(struct query *q, const struct user_line *line, struct err *err);
/* Takes the head: it holds from the next request on. model is borrowed for as long as it does. */
void query_set_head(struct query *q, struct head *head, const char *model);
void query_set_endpoint(struct query *q, struct endpoint *endpoint); /* the same for whom it asks; borrowed */
/* The calls of a loaded session's last answer: with a result from disk, or without one. run: those without are run again
 * if they are read-only; otherwise, or without run, they get a result that says that they may or may not have run. */
int query_restore_call(struct query *q, struct str id, struct str name, struct str input, struct segment *result,
		       bool run, struct err *err);
void query_start(struct query *q);                   /* a turn: leads to on_end exactly once */
void query_go_on(struct query *q);                   /* the turn that has just ended is not over yet */
void query_cancel(struct query *q);                  /* any time, any number of times */
void query_halt(struct query *q, struct str reason); /* ends the turn when the calls of its answer are done */
void query_satisfy(struct query *q);        /* the turn has what it was for: an answer without text ends it well */
void query_batch_over(struct query *q);     /* on_batch has seen the calls; too late does no harm */
void query_pause(struct query *q, bool on); /* back-pressure: no new request, no bytes from the running one */
/* Told to the model with its next request, all that wait in one message. id may be NULL. */
void query_notice(struct query *q, const char *id, struct str text);
/* All its open calls wait for other agents. */
bool query_only_delegates(const struct query *q);
