/* SPDX-License-Identifier: MIT
 * query_int.h - between the files of the query: query.c (states), query_answer.c (a request and its tries, an answer and its tool
 * calls), query_compact.c (summaries). */
#pragma once
#include "agents/query/query.h"

enum step { STEP_AGAIN, STEP_WAIT }; /* AGAIN: the state changed, step on. WAIT: a callback will kick us */

enum step query_set_state(struct query *q, enum query_state to); /* the only place where it changes */
static inline enum step query_finish(struct query *q, enum query_end end)
{
	q->end = end;
	return query_set_state(q, QUERY_FINISH);
}
static inline void query_emit(struct query *q, struct event *event)
{
	if (q->config.on_event)
		q->config.on_event(q->config.data, event);
}
/* Ends the turn for this reason: cancels running work and enters ENDING. text explains errors. */
void query_give_up(struct query *q, enum query_end end, const char *fmt, ...) printf_like(3, 4);

/* Records received blocks and starts their tool calls. */
int answer_take_arrived(struct query *q, struct err *err);
void answer_add_text(struct buf *out, const struct segment *block); /* a block of text */
int answer_record_refusal(struct query *q, struct err *err);        /* only if it has no block */
void answer_count(struct query *q, const char *stop_reason);        /* adds its usage */
void answer_drop(struct query *q);                                  /* discards the answer */
static inline void answer_forget_shown(struct query *q)
{
	free(q->shown);
	q->shown = NULL;
	q->shown_count = q->shown_cap = 0;
	q->superseding = false;
}

int calls_start_ready(struct query *q, struct err *err); /* below 0: earlier lines are not on disk */
int calls_record_done(struct query *q, struct err *err); /* records results of calls that ended since the last call */
static inline bool calls_all_done(const struct query *q) /* and recorded */
{
	for (uint32_t i = 0; i < q->call_count; i++)
		if (!q->calls[i]->result && !q->calls[i]->is_done)
			return false;
	return true;
}
void calls_settle(struct query *q); /* appends results to the transcript, in call order, and empties the list */

enum step query_enter_gate(struct query *q); /* a new request, or that of q->compaction */
enum step step_gate(struct query *q);
enum step step_backoff(struct query *q);
enum step query_try_again(struct query *q); /* it failed and its answer is discarded */
void query_leave_governor(struct query *q); /* it is over */

/* query_compact.c */
enum { MOST_SHORTNESS = 2 };
/* Writes the conversation of t, shortened according to shortness, and the request for a summary to *out, which must be
 * empty. Packs t. */
void compact_history(struct transcript *t, unsigned shortness, struct str instructions, struct transcript *out);
/* Of estimates: by the server's counts of this conversation, within bounds; before the first one as of English. */
float query_bytes_per_token(const struct query *q);
/* An answer counts: takes the server's count of the conversation. */
void context_measure_answer(struct query *q);
/* A request is over: notes the window that the server named. A prompt that the server has cut is a failure, not an answer. */
void context_note_window(struct query *q);
bool compact_is_due(struct query *q);           /* before a request; starts a compaction if one is due */
bool compact_can_rescue(const struct query *q); /* too long for the server */
enum step compact_rescue(struct query *q, const struct failure *refusal);
enum step step_compact(struct query *q);
enum step compact_stream(struct query *q);                          /* while the summary request runs, and after it */
enum step compact_failed(struct query *q, const struct failure *f); /* and does not retry */
void compact_end(struct query *q);                                  /* also when there is none */

/* Of its endpoint; NULL: the built-in ones. */
static inline const struct providers *query_providers(const struct query *q)
{
	const struct endpoints *all = q->config.endpoint ? q->config.endpoint->of : NULL;

	return all ? &all->providers : NULL;
}
