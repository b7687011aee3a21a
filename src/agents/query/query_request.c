/* SPDX-License-Identifier: MIT
 * query_request.c - one request of a query: the governor's slot, the body, tries until the deadline. It asks for the next
 * answer, or for a summary if a compaction is running. */
#include "lib/base/crash.h"
#include "agents/query/query_int.h"

enum { BYTES_PER_TOKEN = 4 }; /* of an estimate: English and code */
enum { DEFAULT_DEADLINE_MS = 30 * 60 * 1000 };

enum step query_enter_gate(struct query *q)
{
	if (q->config.on_request)
		q->config.on_request(q, q->config.data);
	/* Between two requests: all tries of one are the same bytes. */
	if (q->next_head) {
		head_unref(q->config.head);
		q->config.head = TAKE(q->next_head);
		q->config.model = q->next_model;
	}
	if (q->next_endpoint && q->next_endpoint != q->config.endpoint) {
		q->config.endpoint = q->model.endpoint = TAKE(q->next_endpoint);
		q->model.shard = 0; /* it was one of the other client */
	}
	q->attempt = 0;
	q->asked_ms = loop_now_ms(q->config.loop);
	q->deadline_ms =
		q->asked_ms + (q->config.retry_deadline_ms ? q->config.retry_deadline_ms : DEFAULT_DEADLINE_MS);
	governor_enter(&q->config.endpoint->governor, &q->slot);
	return query_set_state(q, QUERY_GATE);
}

static void make_body(struct query *q)
{
	struct body *b = &q->model.body;

	if (!q->text_continues && !q->compaction)
		buf_clear(&q->text);
	q->text_from = q->text.n;
	q->answer_from = transcript_count(&q->transcript);
	q->answer_closed = false;
	if (q->compaction) {
		body_init(b, q->config.head, &q->compaction->history,
			  q->compaction->shortness ? UINT32_MAX : q->last_mark);
		return;
	}
	transcript_pack(&q->transcript);
	body_init(b, q->config.head, &q->transcript, q->last_mark);
	body_remind(b, buf_str(&q->reminder));
}

enum step step_gate(struct query *q)
{
	const struct governor *g = &q->config.endpoint->governor;
	struct err err = { 0 };

	if (!q->slot.granted && g->hold_until_ms > q->deadline_ms) {
		query_give_up(q, QUERY_MODEL_ERROR,
			      "the server's limits hold all requests for longer than the deadline");
		return STEP_AGAIN;
	}
	if (!q->slot.granted || q->paused)
		return STEP_WAIT;
	int settled = journal_settle(q->config.recorder->journal, &q->kick, &err);
	if (settled < 0)
		query_give_up(q, QUERY_DISK_ERROR, "%s", err.text);
	if (settled <= 0)
		return settled < 0 ? STEP_AGAIN : STEP_WAIT;
	uint64_t bytes = q->config.head->bytes.n + q->transcript.bytes;
	if (q->config.budget &&
	    !budget_reserve(q->config.budget, q->config.model, (int64_t)(bytes / BYTES_PER_TOKEN), &q->share)) {
		query_give_up(q, QUERY_BUDGET, "the budget is used up");
		return STEP_AGAIN;
	}
	q->attempt++;
	q->request_over = false;
	make_body(q);
	crash_point(request_before_send);
	if (model_call_start(&q->model, &err) < 0) {
		if (!q->model.failure.kind)
			failure_set(&q->model.failure, FAIL_CONNECT, "%s", err.text);
		q->request_over = true;
	}
	return query_set_state(q, QUERY_STREAM);
}

void query_leave_governor(struct query *q)
{
	const struct failure *f = &q->model.failure;
	int64_t hold_ms = MAX(q->model.hold_ms, f->kind ? f->retry_after_ms : 0);
	enum governor_outcome outcome = GOVERNOR_OTHER;

	if (!f->kind)
		outcome = GOVERNOR_OK;
	else if (f->status == 429)
		outcome = GOVERNOR_LIMITED;
	else if (f->status >= 500)
		outcome = GOVERNOR_OVERLOADED;
	governor_leave(&q->config.endpoint->governor, &q->slot, outcome, hold_ms);
	budget_return(&q->share);
}

/* The request failed and its answer is discarded. */
enum step query_try_again(struct query *q)
{
	const struct failure *f = &q->model.failure;
	uint64_t now = loop_now_ms(q->config.loop);
	int64_t delay_ms = failure_retry_delay_ms(f, q->attempt, id_random_u64());

	answer_drop(q);
	if (!q->compaction && q->config.on_unavailable && failure_is_model_unavailable(f, q->attempt) &&
	    q->config.on_unavailable(q, q->config.data)) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "%s (falling back to %s)", f->text, q->next_model);
		query_emit(q, &(struct event){ .kind = EVENT_RETRY,
					       .text = buf_str(&text),
					       .attempt = q->attempt,
					       .most_attempts = q->attempt,
					       .status = f->status,
					       .error = failure_name(f),
					       .model = q->next_model });
		model_call_reset(&q->model);
		return query_set_state(q, QUERY_ASK);
	}
	if (delay_ms < 0 || now + (uint64_t)delay_ms > q->deadline_ms) {
		struct failure last = *f;
		if (q->compaction)
			return compact_failed(q, &last);
		query_give_up(q, QUERY_MODEL_ERROR, "%s", last.text);
		q->failure = last;
		return STEP_AGAIN;
	}
	query_emit(q, &(struct event){ .kind = EVENT_RETRY,
				       .text = str_from(f->text),
				       .attempt = q->attempt,
				       .most_attempts = q->attempt +
							(unsigned)((q->deadline_ms - now) / (uint64_t)(delay_ms + 1)),
				       .delay_ms = delay_ms,
				       .status = f->status,
				       .error = failure_name(f) });
	model_call_reset(&q->model);
	timer_start(q->config.loop, &q->timer, (uint64_t)delay_ms);
	return query_set_state(q, QUERY_BACKOFF);
}

enum step step_backoff(struct query *q)
{
	if (timer_running(&q->timer))
		return STEP_WAIT;
	governor_enter(&q->config.endpoint->governor, &q->slot);
	return query_set_state(q, QUERY_GATE);
}
