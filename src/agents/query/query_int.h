/* SPDX-License-Identifier: MIT
 * query_int.h - between the files of the query: query.c (states), query_request.c (a request and its tries),
 * query_answer.c (what an answer brings), query_calls.c (its tool calls). */
#pragma once
#include "agents/query/query.h"

enum step { STEP_AGAIN, STEP_WAIT }; /* AGAIN: the state changed, step on. WAIT: a callback will kick us */

void query_kick(struct query *q);
enum step query_set_state(struct query *q, enum query_state to); /* the only place where it changes */
enum step query_finish(struct query *q, enum query_end end);
void query_emit(struct query *q, struct event *event);
/* Ends the turn for this reason: cancels running work and enters ENDING. text explains errors. */
void query_give_up(struct query *q, enum query_end end, const char *fmt, ...) printf_like(3, 4);

/* Records received blocks and starts their tool calls. */
int answer_take_arrived(struct query *q, struct err *err);
void answer_add_text(struct buf *out, const struct segment *block); /* a block of text */
int answer_record_refusal(struct query *q, struct err *err);        /* only if it has no block */
void answer_count(struct query *q, const char *stop_reason);        /* adds its usage */
void answer_drop(struct query *q);                                  /* discards the answer */
void answer_forget_shown(struct query *q);

int calls_add(struct query *q, const struct segment *block, struct err *err);
int calls_start_ready(struct query *q, struct err *err); /* below 0: earlier lines are not on disk */
int calls_record_done(struct query *q, struct err *err); /* records results of calls that ended since the last call */
bool calls_all_done(const struct query *q);              /* and recorded */
void calls_cancel(struct query *q);
void calls_settle(struct query *q); /* appends results to the transcript, in call order, and empties the list */

enum step query_enter_gate(struct query *q); /* a new request, or that of q->compaction */
enum step step_gate(struct query *q);
enum step step_backoff(struct query *q);
enum step query_try_again(struct query *q); /* it failed and its answer is discarded */
void query_leave_governor(struct query *q); /* it is over */
