/* SPDX-License-Identifier: MIT
 * query_compact.c - compaction: the model summarises its conversation, and the query continues from the summary.
 *
 *     ASK --near the window, or asked to--> COMPACT --> GATE --> STREAM --> COMPACT --> ASK, or FINISH
 *     STREAM --too long for the server--------^            ^--BACKOFF--+
 *
 * The old conversation stays until the summary is on disk. At most one per request: each attempt sets `compacted`, the
 * next answer clears it. */
#include "agents/query/query_compact.h"
#include "lib/base/crash.h"
#include "agents/query/compact_int.h"

enum { MOST_FAILURES = 3 };                 /* in a row: then only the server or the user can cause one */
enum { FEW_ANSWERS = 3, MOST_REFILLS = 3 }; /* a turn that fills the context at once, each time: only the user can */

const char *compact_trigger_name(enum compact_trigger trigger)
{
	return trigger == COMPACT_AUTO ? "auto" : "manual";
}

/* ---- when ---------------------------------------------------------------------------------------------------- */

bool query_can_compact(const struct query *q)
{
	const struct transcript *t = &q->transcript;

	for (uint32_t i = transcript_count(t); i-- > 0;)
		if (transcript_block(t, i).role == ROLE_ASSISTANT)
			return q->config.compact.possible;
	return false;
}

static void begin_one(struct query *q, enum compact_trigger trigger)
{
	struct compaction *c = xcalloc(1, sizeof *c);

	c->trigger = trigger;
	q->compaction = c;
	q->compact_refills = trigger == COMPACT_AUTO && q->answers < FEW_ANSWERS ? q->compact_refills + 1 : 0;
	q->answers = 0;
}

/* Not attempted for this request yet, and not the only purpose of the turn. */
static bool may_begin(const struct query *q)
{
	return q->config.compact.automatic && !q->compacted && q->compact_refills < MOST_REFILLS;
}

bool compact_is_due(struct query *q)
{
	if (!q->compaction && may_begin(q) && q->compact_failures < MOST_FAILURES && context_is_full(q) &&
	    query_can_compact(q))
		begin_one(q, COMPACT_AUTO);
	return q->compaction != NULL;
}

bool compact_can_rescue(const struct query *q)
{
	return may_begin(q) && query_can_compact(q);
}

enum step compact_rescue(struct query *q, const struct failure *refusal)
{
	begin_one(q, COMPACT_AUTO);
	q->compaction->is_last_resort = true;
	q->compaction->shortness = 1;
	if (refusal)
		q->compaction->refusal = *refusal;
	return query_set_state(q, QUERY_COMPACT);
}

void compact_end(struct query *q)
{
	struct compaction *c = TAKE(q->compaction);

	if (!c)
		return;
	transcript_release(&c->history);
	buf_release(&c->instructions);
	buf_release(&c->why);
	buf_release(&c->summary);
	free(c);
}

/* ---- what is told -------------------------------------------------------------------------------------------- */

static void emit_compact_event(struct query *q, enum event_kind kind, const char *result, const char *uuid)
{
	const struct compaction *c = q->compaction;

	query_emit(q, &(struct event){ .kind = kind,
				       .uuid = uuid,
				       .text = buf_str(&c->why),
				       .compact = &(struct event_compact){
					       .trigger = compact_trigger_name(c->trigger),
					       .result = result,
					       .tokens_before = c->tokens_before,
					       .tokens_after = kind == EVENT_COMPACTED ? context_tokens(q) : 0,
					       .duration_ms = loop_now_ms(q->config.loop) - c->started_ms } });
}

/* ---- how it ends --------------------------------------------------------------------------------------------- */

/* Continues the turn without compaction if possible. */
static enum step go_without(struct query *q, enum query_end end)
{
	struct compaction *c = q->compaction;
	struct failure refusal = c->refusal;
	bool rescued = c->is_last_resort, manual = c->trigger == COMPACT_MANUAL;

	emit_compact_event(q, EVENT_COMPACTING, "failed", NULL);
	q->compacted = true;
	q->compact_failures++;
	if (manual)
		query_give_up(q, end, STR_FMT, STR_ARG(buf_str(&c->why)));
	compact_end(q);
	if (rescued) {
		query_give_up(q, refusal.kind ? QUERY_MODEL_ERROR : QUERY_CONTEXT_FULL, "%s", refusal.text);
		q->failure = refusal;
	}
	return manual || rescued ? STEP_AGAIN : query_set_state(q, QUERY_ASK);
}

static enum step go_on(struct query *q)
{
	bool manual = q->compaction->trigger == COMPACT_MANUAL;

	if (manual) {
		buf_clear(&q->text);
		buf_addf(&q->text, "The conversation was compacted: %lld tokens before, about %lld now.",
			 (long long)q->compaction->tokens_before, (long long)context_tokens(q));
	}
	compact_end(q);
	return manual ? query_finish(q, QUERY_DONE) : query_set_state(q, QUERY_ASK);
}

enum step compact_failed(struct query *q, const struct failure *f)
{
	struct compaction *c = q->compaction;

	buf_addstr(&c->why, f->text);
	model_call_reset(&q->model);
	if (c->trigger == COMPACT_MANUAL)
		q->failure = *f;
	return go_without(q, QUERY_MODEL_ERROR);
}

/* ---- the conversation from now on ---------------------------------------------------------------------------- */

/* User messages since the last answer are unanswered: they are kept verbatim. Results belong to compacted calls. */
static bool keep_unanswered(const struct transcript *t, struct transcript *out)
{
	uint32_t first = transcript_count(t);
	bool any = false;

	while (first > 0 && transcript_block(t, first - 1).role == ROLE_USER)
		first--;
	for (uint32_t i = first; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_RESULT)
			continue;
		transcript_add(out, ROLE_USER, segment_new(b.kind, b.json));
		any = true;
	}
	return any;
}

static struct segment *summary_block(const struct compaction *c)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "This conversation continues an earlier one, which was replaced by this summary:\n\n" STR_FMT,
		 STR_ARG(str_trim(buf_str(&c->summary))));
	return segment_text(buf_str(&text));
}

static void make_conversation(struct query *q, struct transcript *out)
{
	const struct compaction *c = q->compaction;

	transcript_add(out, ROLE_USER, summary_block(c));
	if (q->config.compact_owner.keep)
		q->config.compact_owner.keep(q, out, q->config.data);
	if (!keep_unanswered(&q->transcript, out) && c->trigger == COMPACT_AUTO)
		transcript_add(out, ROLE_USER,
			       segment_text(STR("Continue the work exactly where the summary ends. Do not mention "
						"the summary, and do not ask whether to continue.")));
}

/* The summary is written first; only then the old conversation is dropped. */
static int replace(struct query *q, char uuid[UUID_LEN + 1], struct err *err)
{
	const struct compaction *c = q->compaction;
	struct transcript fresh = { 0 };

	make_conversation(q, &fresh);
	struct segment **blocks = xcalloc(fresh.tail_count, sizeof(struct segment *));
	for (uint32_t i = 0; i < fresh.tail_count; i++)
		blocks[i] = fresh.tail[i].segment;
	int status = recorder_compact(q->config.recorder,
				      &(struct compact_line){ .trigger = compact_trigger_name(c->trigger),
							      .tokens_before = c->tokens_before,
							      .blocks = blocks,
							      .count = fresh.tail_count,
							      .between_turns = c->trigger == COMPACT_MANUAL },
				      uuid, err);
	free(blocks);
	if (status < 0) {
		transcript_release(&fresh);
		return status;
	}
	crash_point(compact_summary);
	transcript_release(&q->transcript);
	q->transcript = fresh;
	q->measured = (struct context_measure){ 0 };
	q->last_mark = UINT32_MAX;
	return 0;
}

static enum step take_summary(struct query *q)
{
	struct compaction *c = q->compaction;
	struct err err = { 0 };
	char uuid[UUID_LEN + 1];

	if (replace(q, uuid, &err) < 0) {
		query_give_up(q, QUERY_DISK_ERROR, "%s", err.text);
		return STEP_AGAIN;
	}
	/* A conversation that is full again at once would be compacted in a loop. */
	q->compacted = true;
	q->compact_failures = context_is_full(q) ? MOST_FAILURES : 0;
	emit_compact_event(q, EVENT_COMPACTING, "success", NULL);
	emit_compact_event(q, EVENT_COMPACTED, "success", uuid);
	c->phase = COMPACT_SHOWN;
	if (!q->config.compact_owner.after || !q->config.compact_owner.after(q, q->config.data))
		c->phase = COMPACT_OVER;
	return query_set_state(q, QUERY_COMPACT);
}

/* ---- the request --------------------------------------------------------------------------------------------- */

/* Records its cost, also on failure. */
static int record_summary(struct query *q, struct err *err)
{
	const struct answer *a = &q->model.answer;
	struct answer_ids ids = { a->message_id, a->model, q->model.request_id, NULL };
	struct answer_stop end = { .reason = a->stop_reason, .usage = &a->usage, .summary = true };
	struct segment *block = segment_text(buf_str(&q->compaction->summary));
	char uuid[UUID_LEN + 1];
	int status = recorder_block(q->config.recorder, &ids, block, &end, uuid, err);

	segment_unref(block);
	return status;
}

static enum step over(struct query *q)
{
	struct compaction *c = q->compaction;
	const struct answer *a = &q->model.answer;
	bool refused = !strcmp(a->stop_reason, "refusal"), has_text = str_trim(buf_str(&c->summary)).n;
	struct err err = { 0 };

	q->api_ms += loop_now_ms(q->config.loop) - q->asked_ms;
	answer_count(q, a->stop_reason);
	if (has_text && record_summary(q, &err) < 0) {
		query_give_up(q, QUERY_DISK_ERROR, "%s", err.text);
		return STEP_AGAIN;
	}
	model_call_reset(&q->model);
	if (!refused && has_text)
		return take_summary(q);
	struct failure f = { .retry_after_ms = -1 };
	snprintf(f.text, sizeof f.text, "the model gave no summary of the conversation");
	return compact_failed(q, &f);
}

enum step compact_stream(struct query *q)
{
	struct compaction *c = q->compaction;

	/* Calls are never run, even if the model ignores the instruction. */
	for (uint32_t i = 0; i < q->arrived_count; i++) {
		if (q->arrived[i]->kind == SEGMENT_TEXT)
			answer_add_text(&q->compaction->summary, q->arrived[i]);
		segment_unref(q->arrived[i]);
	}
	q->arrived_count = 0;
	if (!q->request_over)
		return STEP_WAIT;
	query_leave_governor(q);
	if (!q->model.failure.kind)
		return over(q);
	buf_clear(&c->summary);
	if (!failure_is_too_long(&q->model.failure) || c->shortness == MOST_SHORTNESS)
		return query_try_again(q);
	c->shortness++;
	c->phase = COMPACT_ASKS;
	model_call_reset(&q->model);
	return query_set_state(q, QUERY_COMPACT);
}

/* ---- the steps ----------------------------------------------------------------------------------------------- */

static enum step compact_begin(struct query *q)
{
	struct compaction *c = q->compaction;

	c->tokens_before = context_tokens(q);
	c->started_ms = loop_now_ms(q->config.loop);
	emit_compact_event(q, EVENT_COMPACTING, NULL, NULL);
	c->phase = COMPACT_HELD;
	if (!q->config.compact_owner.before || !q->config.compact_owner.before(q, q->config.data))
		c->phase = COMPACT_ASKS;
	return STEP_AGAIN;
}

static enum step compact_ask(struct query *q)
{
	struct compaction *c = q->compaction;

	if (q->paused)
		return STEP_WAIT;
	transcript_release(&c->history);
	compact_history(&q->transcript, c->shortness, buf_str(&c->instructions), &c->history);
	return query_enter_gate(q);
}

enum step step_compact(struct query *q)
{
	switch (q->compaction->phase) {
	case COMPACT_BEGINS:
		return compact_begin(q);
	case COMPACT_REFUSED:
		return go_without(q, QUERY_BLOCKED);
	case COMPACT_ASKS:
		return compact_ask(q);
	case COMPACT_OVER:
		return go_on(q);
	case COMPACT_HELD:
	case COMPACT_SHOWN:
		break;
	}
	return STEP_WAIT;
}

/* ---- from outside -------------------------------------------------------------------------------------------- */

void query_compact(struct query *q, struct str instructions)
{
	begin_one(q, COMPACT_MANUAL);
	buf_add(&q->compaction->instructions, instructions.p, instructions.n);
	query_start(q);
}

void query_compact_decided(struct query *q, bool go, struct str text)
{
	struct compaction *c = q->compaction;

	if (!c || c->phase != COMPACT_HELD)
		return;
	struct buf *out = go ? &c->instructions : &c->why;
	if (text.n)
		buf_addf(out, "%s" STR_FMT, out->n ? "\n" : "", STR_ARG(text));
	c->phase = go ? COMPACT_ASKS : COMPACT_REFUSED;
	query_kick(q);
}

void query_compact_told(struct query *q)
{
	if (q->compaction && q->compaction->phase == COMPACT_SHOWN)
		q->compaction->phase = COMPACT_OVER;
	query_kick(q);
}
