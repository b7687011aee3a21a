/* SPDX-License-Identifier: MIT
 * query.c - the agentic loop: ask the model, run the tools it calls, answer, until it stops calling tools.
 *
 *    IDLE --query_start--> ASK --> GATE --> STREAM --+--> TOOLS --> ASK ...
 *                           ^        ^        |      |
 *                           |        |     failure   +--> FINISH --> IDLE
 *                           |     BACKOFF <---+      |
 *                           +--- pause_turn, cut at the output limit, empty answer
 *    ASK or STREAM --the conversation is too long--> COMPACT (query_compact.c) --> ASK
 *    any state --cancel, disk error, given up--> ENDING --> FINISH --> IDLE
 *
 * Every callback from below records a fact in the query and kicks it. All decisions are in the step functions, and
 * query_set_state() is the only place where the state changes. docs/internals/query.md has the table of failures. */
#include "agents/query/query.h"
#include <assert.h>
#include "lib/base/crash.h"
#include "core/tool/tool.h"
#include "agents/query/query_int.h"

enum { MOST_CONTINUATIONS = 3, MOST_NUDGES = 1, MOST_PAUSES = 50 };

static const char context_end[] = "model_context_window_exceeded"; /* a stop reason */

typedef enum step step_fn(struct query *q);

static const char *const state_names[] = {
#define X(s) [QUERY_##s] = #s,
	QUERY_STATES(X)
#undef X
};

enum step query_set_state(struct query *q, enum query_state to)
{
	if (q->trace)
		q->trace(q, state_names[to]);
	q->state = to;
	return STEP_AGAIN;
}

static void on_granted(struct governor_slot *slot)
{
	query_kick(CONTAINER_OF(slot, struct query, slot));
}

static void on_slot_taken(struct agent_slot *slot)
{
	query_kick(CONTAINER_OF(slot, struct query, agent_slot));
}

static void on_timer(struct timer *timer)
{
	query_kick(CONTAINER_OF(timer, struct query, timer));
}

static void on_note(struct model_call *call, struct str text)
{
	query_emit(call->owner, &(struct event){ .kind = EVENT_ERROR, .name = "note", .text = text });
}

static void on_request_over(struct model_call *call)
{
	struct query *q = call->owner;

	q->request_over = true;
	context_note_window(q);
	query_kick(q);
}

static void on_block(void *data, struct segment *block)
{
	struct query *q = data;

	*xpush(q->arrived, q->arrived_count, q->arrived_cap) = block;
	query_kick(q);
}

static void on_delta(void *data, const char *name, struct str text)
{
	struct query *q = data;

	if (q->config.want_deltas && !q->compaction)
		query_emit(q, &(struct event){ .kind = EVENT_DELTA, .name = name, .text = text });
}

static void on_model_event(void *data, struct str json)
{
	struct query *q = data;

	if (q->fork_barrier && !q->fork_barrier->open)
		fork_barrier_open(q->fork_barrier);
	if (q->config.want_raw && !q->compaction)
		query_emit(q, &(struct event){ .kind = EVENT_DELTA, .name = "", .raw = json });
}

static const struct answer_sink sink = { on_block, on_delta, on_model_event };

void query_give_up(struct query *q, enum query_end end, const char *fmt, ...)
{
	if (q->state == QUERY_ENDING)
		return; /* the first reason wins */
	q->end = end;
	PRINT_ARGS(q->failure.text, fmt);
	timer_stop(q->config.loop, &q->timer);
	if (q->fork_barrier) {
		fork_barrier_leave(q->fork_barrier, &q->kick);
		if (q->through_gate)
			fork_barrier_open(q->fork_barrier);
	}
	model_call_cancel(&q->model);
	for (uint32_t i = 0; i < q->call_count; i++)
		if (!q->calls[i]->result && !q->calls[i]->is_done)
			tool_scheduler_cancel(q->calls[i]->call); /* one that was not started is done at once */
	query_set_state(q, QUERY_ENDING);
}

static enum step query_give_up_disk(struct query *q, const struct err *err)
{
	query_give_up(q, QUERY_DISK_ERROR, "%s", err->text);
	return STEP_AGAIN;
}

int query_add_line(struct query *q, const struct user_line *line, struct err *err)
{
	char uuid[UUID_LEN + 1];
	int status = recorder_user(q->config.recorder, line, uuid, err);

	if (q->state == QUERY_IDLE)
		calls_settle(q); /* results of an interrupted turn come before the next prompt */
	for (size_t i = 0; i < line->count; i++) {
		if (status == 0)
			transcript_add(&q->transcript, ROLE_USER, line->blocks[i]);
		else
			segment_unref(line->blocks[i]);
	}
	if (status == 0 && !line->meta)
		crash_point(prompt_recorded);
	if (status == 0 && line->notice_ids)
		crash_point(notice_delivered);
	return status;
}

/* Drops the first ones, which a request has carried. */
static void drop_notices(struct query *q, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free(q->notices[i].id);
		free(q->notices[i].about);
		q->notice_bytes -= q->notices[i].text.n;
		buf_release(&q->notices[i].text);
	}
	q->notice_count -= count;
	if (q->notice_count)
		memmove(q->notices, q->notices + count, q->notice_count * sizeof *q->notices);
	else
		free(TAKE(q->notices));
}

enum { MAIL_BATCH = 100000 }; /* bytes of mail in one request */

static int take_notices(struct query *q, struct err *err)
{
	uint32_t due = q->notice_count, last_mail = 0;
	size_t mail_bytes = 0;

	if (!due)
		return 0;
	for (uint32_t i = 0; i < due; i++) {
		if (!q->notices[i].mail)
			continue;
		mail_bytes += q->notices[i].text.n;
		if (i && mail_bytes > MAIL_BATCH)
			due = i;
		else
			last_mail = i;
	}
	struct segment **blocks = xcalloc(due + 2, sizeof *blocks);
	const char **ids = xcalloc(due + 1, sizeof *ids);
	size_t id_count = 0, n = 0;
	bool mail = false;
	for (uint32_t i = 0; i < due; i++) {
		const struct query_notice *notice = &q->notices[i];
		if (notice->mail && !mail && q->mail_before)
			blocks[n++] = segment_text(str_from(q->mail_before));
		mail = mail || notice->mail;
		blocks[n++] = segment_text(buf_str(&notice->text));
		if (notice->mail && i == last_mail && q->mail_after)
			blocks[n++] = segment_text(str_from(q->mail_after));
		if (notice->id)
			ids[id_count++] = notice->id;
		if (notice->id && notice->mail && q->mail_before)
			buf_add(&q->mail_ids, notice->id, strlen(notice->id) + 1);
	}
	struct user_line line = { .blocks = blocks, .count = n, .meta = true, .notice_ids = ids, .mail = mail };
	int status = query_add_line(q, &line, err);
	free(blocks);
	free(ids);
	if (status == 0) /* else they wait for a disk that takes them */
		drop_notices(q, due);
	return status;
}

static struct segment *reminder_block(const char *reminder)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "<system-reminder>\n%s\n</system-reminder>", reminder);
	return segment_text(buf_str(&text));
}

static enum step step_ask(struct query *q)
{
	struct err err = { 0 };

	if (q->paused)
		return STEP_WAIT;
	if (q->halted)
		return query_finish(q, QUERY_HALTED);
	if (q->config.max_turns && q->turn >= q->config.max_turns)
		return query_finish(q, QUERY_MAX_TURNS);
	if (q->config.slots && !q->agent_slot.taken) {
		if (!q->agent_slot.waiting)
			slot_wait(q->config.slots, &q->agent_slot, SLOT_AGAIN);
		return STEP_WAIT;
	}
	if (take_notices(q, &err) < 0)
		return query_give_up_disk(q, &err);
	if (compact_is_due(q))
		return query_set_state(q, QUERY_COMPACT);
	if (q->fork_barrier && !q->through_gate && !fork_barrier_pass(q->fork_barrier, &q->kick))
		return STEP_WAIT;
	if (q->keeps_reminder && transcript_count(&q->transcript) != q->reminded) {
		struct segment *block = reminder_block(q->config.reminder);
		if (query_add_user(q, &block, 1, true, &err) < 0)
			return query_give_up_disk(q, &err);
		q->reminded = transcript_count(&q->transcript);
	}
	q->through_gate = true;
	return query_enter_gate(q);
}

/* Adds a text that makes the model continue. */
static enum step query_ask_to_continue(struct query *q, const char *text)
{
	struct err err = { 0 };
	struct segment *block = segment_text(str_from(text));

	if (query_add_user(q, &block, 1, true, &err) < 0)
		return query_give_up_disk(q, &err);
	return query_set_state(q, QUERY_ASK);
}

static enum step take_answer_end(struct query *q)
{
	struct err err = { 0 };
	bool cut = q->model.failure.kind != FAIL_NONE;

	if (q->model.answer.dropped && !q->told_dropped) {
		char text[160];
		snprintf(text, sizeof text, "the server took %u blocks of thinking out of the request: %s",
			 q->model.answer.dropped, q->model.answer.dropped_why);
		query_emit(q, &(struct event){ .kind = EVENT_ERROR, .text = str_from(text) });
		q->told_dropped = true;
	}
	AUTO_ARENA struct arena a = { 0 };
	const char *note = endpoint_note_answer(q->config.endpoint, q->config.model, q->model.answer.model,
						(int64_t)(q->config.head->bytes.n / 4), &a);
	if (note)
		query_emit(q, &(struct event){ .kind = EVENT_ERROR, .name = "note", .text = str_from(note) });
	/* Thinking is bound to the messages before it: a reminder that is in one request only makes the next one another conversation. */
	if (q->model.answer.dropped && !strcmp(q->model.answer.dropped_why, "prefix_binding_mismatch"))
		q->keeps_reminder = q->reminder.n > 0;
	q->turn++;
	q->answers++;
	q->last_mark = q->model.body.mark_count ? q->model.body.marks[q->model.body.mark_count - 1] : UINT32_MAX;
	q->api_ms += loop_now_ms(q->config.loop) - q->asked_ms;
	q->text_continues = false;
	if (cut && q->model.failure.too_long) /* its calls have run; what it did not see is still ours */
		query_emit(q, &(struct event){ .kind = EVENT_ERROR, .text = str_from(q->model.failure.text) });
	else
		context_measure_answer(q);
	q->compacted = q->compacted && !strcmp(q->model.answer.stop_reason, context_end);
	answer_count(q, cut ? "tool_use" : q->model.answer.stop_reason);
	if (answer_record_refusal(q, &err) < 0)
		return query_give_up_disk(q, &err);
	snprintf(q->failure.text, sizeof q->failure.text, "%s", q->model.answer.refusal);
	model_call_reset(&q->model);
	answer_forget_shown(q);
	fork_barrier_unref(TAKE(q->fork_barrier));
	if (q->call_count)
		return query_set_state(q, QUERY_TOOLS);
	/* Without calls the stop reason decides. */
	if (!strcmp(q->stop_reason, "pause_turn"))
		return q->pauses++ < MOST_PAUSES ? query_set_state(q, QUERY_ASK) : query_finish(q, QUERY_CUT_OFF);
	if (!strcmp(q->stop_reason, "refusal")) {
		answer_drop(q);
		return query_finish(q, QUERY_REFUSED);
	}
	if (!strcmp(q->stop_reason, context_end))
		return compact_can_rescue(q) ? compact_rescue(q, NULL) : query_finish(q, QUERY_CONTEXT_FULL);
	if (!strcmp(q->stop_reason, "max_tokens")) {
		if (q->continuations++ >= MOST_CONTINUATIONS)
			return query_finish(q, QUERY_CUT_OFF);
		q->text_continues = true;
		return query_ask_to_continue(
			q, "Your answer was cut off at the output limit. Continue exactly where it stopped, without "
			   "repeating anything.");
	}
	if (q->text.n || q->satisfied)
		return query_finish(q, QUERY_DONE);
	if (q->nudges++ < MOST_NUDGES)
		return query_ask_to_continue(q, "Your last answer was empty. Give your answer now.");
	return query_finish(q, QUERY_EMPTY);
}

static enum step step_stream(struct query *q)
{
	struct err err = { 0 };

	if (q->compaction)
		return compact_stream(q);
	if (answer_take_arrived(q, &err) < 0 || calls_record_done(q, &err) < 0 || calls_start_ready(q, &err) < 0)
		return query_give_up_disk(q, &err);
	if (!q->request_over)
		return STEP_WAIT;
	query_leave_governor(q);
	/* A tool of this answer may have run, so its complete blocks are kept as the answer. */
	if (q->call_count && q->model.failure.too_long && !compact_can_rescue(q)) {
		query_give_up(q, QUERY_CONTEXT_FULL, "%s", q->model.failure.text);
		return STEP_AGAIN;
	}
	if (!q->model.failure.kind || q->call_count)
		return take_answer_end(q);
	if (failure_is_too_long(&q->model.failure) && compact_can_rescue(q)) {
		/* The server refused the conversation. */
		struct failure refusal = q->model.failure;
		answer_drop(q);
		model_call_reset(&q->model);
		return compact_rescue(q, &refusal);
	}
	return query_try_again(q);
}

static enum step step_tools(struct query *q)
{
	struct err err = { 0 };

	if (calls_record_done(q, &err) < 0 || calls_start_ready(q, &err) < 0)
		return query_give_up_disk(q, &err);
	if (!calls_all_done(q)) {
		bool only_delegates = true; /* all open calls wait for other agents */
		for (uint32_t i = 0; i < q->call_count; i++)
			if (!q->calls[i]->result && !q->calls[i]->is_done)
				only_delegates = only_delegates && (q->calls[i]->call->flags & TOOL_DELEGATES);
		if (q->config.slots && only_delegates)
			slot_leave(q->config.slots, &q->agent_slot);
		return STEP_WAIT;
	}
	/* Hooks check the calls before their results are sent. */
	if (!q->batch_reported && q->config.on_batch)
		q->batch_held = q->config.on_batch(q, q->config.data);
	q->batch_reported = true;
	if (q->batch_held)
		return STEP_WAIT;
	q->batch_reported = false;
	calls_settle(q);
	return query_set_state(q, QUERY_ASK);
}

/* All running work has reported: completes the transcript, so that the session can be resumed. */
static enum step step_ending(struct query *q)
{
	struct err err = { 0 };
	bool disk_fails = q->end == QUERY_DISK_ERROR;
	bool in_answer = q->model.answer.started && !q->call_count && !q->answer_closed;

	if (q->model.running || !calls_all_done(q))
		return STEP_WAIT;
	governor_leave(&q->slot, GOVERNOR_OTHER, 0);
	budget_return(&q->share);
	for (uint32_t i = 0; i < q->arrived_count; i++)
		segment_unref(q->arrived[i]);
	q->arrived_count = 0;
	if (in_answer)
		answer_drop(q);
	if (q->model.answer.started && !in_answer && !q->compaction)
		answer_count(q, q->call_count ? "tool_use" : q->model.answer.stop_reason);
	if (!disk_fails)
		disk_fails = calls_record_done(q, &err) < 0;
	calls_settle(q);
	compact_end(q);
	model_call_reset(&q->model);
	answer_forget_shown(q);
	if (q->end == QUERY_CANCELLED && !disk_fails && q->config.interrupt_note) {
		struct segment *note = segment_text(str_from(q->config.interrupt_note));
		(void)query_add_user(q, &note, 1, false, &err);
	}
	return query_set_state(q, QUERY_FINISH);
}

static enum step step_finish(struct query *q)
{
	struct err err = { 0 };
	int settled = q->end == QUERY_DISK_ERROR ? 1 : journal_settle(q->config.recorder->journal, &q->kick, &err);

	if (!settled)
		return STEP_WAIT;
	if (settled < 0)
		query_end_disk(q, &err);
	query_set_state(q, QUERY_IDLE);
	q->batch_reported = q->batch_held = false;
	free(q->arrived);
	q->arrived = NULL;
	q->arrived_cap = 0;
	q->config.on_end(q, q->config.data);
	return STEP_WAIT;
}

static step_fn *const steps[QUERY_STATE_COUNT] = {
	[QUERY_ASK] = step_ask,         [QUERY_GATE] = step_gate,     [QUERY_STREAM] = step_stream,
	[QUERY_BACKOFF] = step_backoff, [QUERY_TOOLS] = step_tools,   [QUERY_COMPACT] = step_compact,
	[QUERY_ENDING] = step_ending,   [QUERY_FINISH] = step_finish,
};

static void on_kick(struct kick *kick)
{
	struct query *q = CONTAINER_OF(kick, struct query, kick);

	if (q->cancelled && q->state != QUERY_IDLE && q->state < QUERY_ENDING)
		query_give_up(q, QUERY_CANCELLED, "interrupted");
	while (steps[q->state] && steps[q->state](q) == STEP_AGAIN)
		;
}

void query_init(struct query *q, const struct query_config *config)
{
	*q = (struct query){ .config = *config, .last_mark = UINT32_MAX };
	head_ref(q->config.head);
	if (q->config.reminder) {
		struct segment *block = reminder_block(q->config.reminder);
		buf_addch(&q->reminder, ',');
		buf_add(&q->reminder, block->bytes, block->len);
		segment_unref(block);
	}
	q->kick.step = on_kick;
	q->timer.fire = on_timer;
	q->slot.on_granted = on_granted;
	q->agent_slot.on_taken = on_slot_taken;
	q->model = (struct model_call){
		.endpoint = config->endpoint,
		.session_id = config->session_id,
		.agent = config->agent,
		.parent_agent = config->parent_agent,
		.sink = &sink,
		.on_note = on_note,
		.on_done = on_request_over,
		.owner = q,
	};
}

void query_release(struct query *q)
{
	assert(q->state == QUERY_IDLE);
	kick_cancel(&q->kick);
	calls_settle(q); /* calls of a loaded session that was never started */
	drop_notices(q, q->notice_count);
	free(q->arrived);
	compact_end(q);
	answer_forget_shown(q);
	fork_barrier_unref(q->fork_barrier);
	transcript_release(&q->transcript);
	buf_release(&q->text);
	buf_release(&q->reminder);
	buf_release(&q->mail_ids);
	head_unref(q->config.head);
	head_unref(q->next_head);
}

void query_start(struct query *q)
{
	assert(q->state == QUERY_IDLE);
	q->turn = q->continuations = q->nudges = q->pauses = q->compact_refills = 0;
	q->cancelled = q->halted = q->satisfied = false;
	q->end = QUERY_RUNNING;
	q->failure = (struct failure){ .retry_after_ms = -1 };
	q->usage = (struct usage){ 0 };
	q->started_ms = loop_now_ms(q->config.loop);
	q->api_ms = 0;
	q->stop_reason[0] = '\0';
	buf_clear(&q->text);
	buf_clear(&q->mail_ids);
	query_set_state(q, q->call_count ? QUERY_TOOLS : QUERY_ASK);
	query_kick(q);
}

void query_continue(struct query *q)
{
	assert(q->state == QUERY_IDLE);
	q->end = QUERY_RUNNING;
	q->nudges = q->continuations = 0;
	query_set_state(q, QUERY_ASK);
	query_kick(q);
}

void query_pause(struct query *q, bool on)
{
	if (q->paused == on)
		return;
	q->paused = on;
	if (q->model.running && q->config.endpoint->provider->pause)
		q->config.endpoint->provider->pause(&q->model, on);
	query_kick(q);
}

static struct query_notice *find_about(const struct query *q, const char *about)
{
	for (uint32_t i = 0; about && i < q->notice_count; i++)
		if (q->notices[i].about && !strcmp(q->notices[i].about, about))
			return &q->notices[i];
	return NULL;
}

const char *query_pending_notice(const struct query *q, const char *about)
{
	const struct query_notice *n = find_about(q, about);

	return n ? n->id : NULL;
}

void query_put_notice(struct query *q, const struct notice *notice)
{
	struct query_notice *n = find_about(q, notice->about);

	/* A second put of an id changes nothing. Mail is compared by its sender: ten thousand may wait. */
	for (uint32_t i = 0; notice->id && !notice->mail && i < q->notice_count; i++)
		if (q->notices[i].id && !strcmp(q->notices[i].id, notice->id))
			return;
	if (n) {
		free(n->id);
		free(n->about);
		q->notice_bytes -= n->text.n;
		buf_release(&n->text);
	} else {
		q->notices = xrealloc(q->notices, (q->notice_count + 1) * sizeof *q->notices);
		n = &q->notices[q->notice_count++];
	}
	*n = (struct query_notice){ .id = notice->id ? xstrdup(notice->id) : NULL,
				    .about = notice->about ? xstrdup(notice->about) : NULL,
				    .mail = notice->mail,
				    .quiet = notice->quiet };
	buf_add(&n->text, notice->text.p, notice->text.n);
	q->notice_bytes += n->text.n;
}
