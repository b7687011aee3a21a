/* SPDX-License-Identifier: MIT
 * query_answer.c - an answer: its blocks on disk, in the transcript and out as events; its tool calls: which may start,
 * which are done, their results in order. */
#include "lib/base/crash.h"
#include "core/tool/tool.h"
#include "agents/query/query_int.h"

enum { DEFAULT_PARALLEL = 10 };

static void on_call_done(struct tool_call *call)
{
	struct query_call *c = call->owner;

	c->is_done = true;
	query_kick(c->query);
}

static struct query_call *calls_append(struct query *q, struct str id, struct tool_call *call)
{
	struct query_call *c = xnew(struct query_call, .query = q, .id = xstrndup(id.p, id.n), .call = call);

	*xpush(q->calls, q->call_count, q->call_cap) = c;
	if (call) {
		call->owner = c;
		call->done = on_call_done;
	}
	return c;
}

static struct query_call *calls_create(struct query *q, struct str id, struct str name, struct str input)
{
	const struct tool *tool = tool_set_find(q->config.tools, name);

	return calls_append(q, id, tool_call_new(q->config.env, q->config.gate, tool, id, name, input));
}

/* Takes result. */
static int record_result(struct query *q, struct query_call *c, struct segment *result, struct str tool_use_result,
			 struct err *err)
{
	char uuid[UUID_LEN + 1];

	if (recorder_result(q->config.recorder, result, tool_use_result, uuid, err) < 0) {
		segment_unref(result);
		return -(int)err->kind;
	}
	c->result = result;
	crash_point(result_recorded);
	query_emit(q,
		   &(struct event){
			   .kind = EVENT_MESSAGE, .uuid = uuid, .block = result, .tool_use_result = tool_use_result });
	return 0;
}

int query_restore_call(struct query *q, struct str id, struct str name, struct str input, struct segment *result,
		       bool run, struct err *err)
{
	if (result) {
		calls_append(q, id, NULL)->result = segment_ref(result);
		return 0;
	}
	struct query_call *c = calls_create(q, id, name, input);
	c->call->again = true;
	if (run && c->call->tool && (c->call->flags & (TOOL_READ_ONLY | TOOL_RESUMES)))
		return 0;
	c->is_done = true;
	return record_result(q, c, segment_lost_result(id), STR(""), err);
}

/* No call starts before its line is as durable as the settings require. */
int calls_start_ready(struct query *q, struct err *err)
{
	struct tool_scheduler pass = { .limit = q->config.parallel_calls ? q->config.parallel_calls : DEFAULT_PARALLEL,
				       .in_answer = q->state == QUERY_STREAM };

	for (uint32_t i = 0; i < q->call_count; i++) {
		const struct query_call *c = q->calls[i];
		if (c->result || c->is_done || !tool_scheduler_pass(&pass, c->call))
			continue;
		int settled = journal_settle(q->config.recorder->journal, &q->kick, err);
		if (settled <= 0)
			return settled;
		query_emit(q, &(struct event){ .kind = EVENT_TOOL_STARTED,
					       .name = c->call->name,
					       .id = c->call->id,
					       .text = tool_call_summary(c->call) });
		tool_call_start(c->call);
		crash_point(call_started);
	}
	return 0;
}

static struct segment *call_result(const struct tool_call *call)
{
	if (call->result_blocks.n)
		return segment_tool_blocks(str_from(call->id), buf_str(&call->result_blocks), call->is_error);
	return segment_tool_result(str_from(call->id), buf_str(&call->result), call->is_error);
}

int calls_record_done(struct query *q, struct err *err)
{
	for (uint32_t i = 0; i < q->call_count; i++) {
		struct query_call *c = q->calls[i];
		if (!c->is_done || c->result)
			continue;
		struct tool_call *call = c->call;
		crash_point(call_ended);
		struct segment *result = call_result(call);
		if (record_result(q, c, result, buf_str(&call->result_json), err) < 0)
			return -(int)err->kind;
		query_emit(q, &(struct event){ .kind = EVENT_TOOL_ENDED,
					       .name = call->name,
					       .id = call->id,
					       .text = buf_str(&call->result),
					       .is_error = call->is_error });
		for (struct str rest = buf_str(&call->blocked); rest.n;) {
			struct str line = str_cut(&rest, '\n');
			struct str head = str_cut(&line, '\t');
			AUTO_FREE char *kind = xstrndup(head.p, head.n);
			struct str what = str_cut(&line, '\t');
			query_emit(q, &(struct event){ .kind = EVENT_SANDBOX_VIOLATION,
						       .name = kind,
						       .id = call->id,
						       .text = what,
						       .why = line });
		}
		tool_call_free(TAKE(c->call));
	}
	return 0;
}

void calls_settle(struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++) {
		struct query_call *c = q->calls[i];
		/* A result that could not be recorded, or of a call that a loaded session never ran: it needs one anyway. */
		if (!c->result)
			c->result =
				c->call->finished ? call_result(c->call) : segment_lost_result(str_from(c->call->id));
		transcript_add(&q->transcript, ROLE_USER, c->result);
		tool_call_free(c->call);
		free(c->id);
		free(c);
	}
	free(q->calls);
	q->calls = NULL;
	q->call_count = q->call_cap = 0;
}

static struct answer_ids answer_ids_of(const struct query *q)
{
	const struct answer *a = &q->model.answer;

	return (struct answer_ids){ a->message_id, a->model, q->model.request_id, q->config.model };
}

void answer_add_text(struct buf *out, const struct segment *block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	struct str text = json_str(json_get(json_read(&reader, segment_json(block)), "text"), &arena);

	buf_add(out, text.p, text.n);
}

/* Takes block. end: see recorder_block(). */
static int answer_take_block(struct query *q, struct segment *block, const struct answer_stop *end, struct err *err)
{
	struct answer_ids ids = answer_ids_of(q);
	char uuid[UUID_LEN + 1];

	if (recorder_block(q->config.recorder, &ids, block, end, uuid, err) < 0) {
		segment_unref(block);
		return -(int)err->kind;
	}
	crash_point(block_recorded);
	q->answer_closed = end != NULL;
	if (end)
		crash_point(answer_closed);
	transcript_add(&q->transcript, ROLE_ASSISTANT, segment_ref(block));
	const char **supersedes = NULL;
	if (q->superseding) {
		supersedes = xcalloc(q->shown_count + 1, sizeof *supersedes);
		for (uint32_t i = 0; i < q->shown_count; i++)
			supersedes[i] = q->shown[i];
	}
	query_emit(q, &(struct event){ .kind = EVENT_MESSAGE,
				       .uuid = uuid,
				       .from_model = true,
				       .block = block,
				       .message_id = ids.message_id,
				       .model = ids.model,
				       .request_id = ids.request_id,
				       .usage = &q->model.answer.usage,
				       .supersedes = supersedes });
	free(supersedes);
	if (q->superseding)
		answer_forget_shown(q);
	memcpy(xpush(q->shown, q->shown_count, q->shown_cap), uuid, sizeof *q->shown);
	if (block->kind == SEGMENT_TEXT)
		answer_add_text(&q->text, block);
	int status = 0;
	if (block->kind == SEGMENT_TOOL_USE) {
		AUTO_JSON struct json_reader reader = { 0 };
		AUTO_ARENA struct arena arena = { 0 };
		const struct json *root;
		status = json_parse(&reader, block->bytes, block->len, &root, err);
		if (status == 0)
			calls_create(q, json_str(json_get(root, "id"), &arena),
				     json_str(json_get(root, "name"), &arena), json_raw(json_get(root, "input")));
	}
	segment_unref(block);
	return status;
}

/* A cut answer that calls a tool is kept: it ends with its last complete block. */
int answer_take_arrived(struct query *q, struct err *err)
{
	const struct answer *a = &q->model.answer;
	bool over = answer_complete(a) || q->request_over;
	struct answer_stop end = { .reason = a->stop_reason, .usage = &a->usage };
	int status = 0;

	if (a->stop_sequence[0])
		end.sequence = a->stop_sequence;
	for (uint32_t i = 0; i < q->arrived_count; i++) {
		struct segment *block = q->arrived[i];
		bool cut = q->request_over && q->model.failure.kind;
		bool counts = !cut || q->call_count || block->kind == SEGMENT_TOOL_USE;
		if (cut)
			end.reason = "tool_use";
		if (status == 0)
			status = answer_take_block(q, block, over && counts && i + 1 == q->arrived_count ? &end : NULL,
						   err);
		else
			segment_unref(block);
	}
	q->arrived_count = 0;
	return status;
}

/* Without this line a resumed session would take the turn for one that was cut off. */
int answer_record_refusal(struct query *q, struct err *err)
{
	const struct answer *a = &q->model.answer;
	struct answer_ids ids = answer_ids_of(q);
	char uuid[UUID_LEN + 1];

	if (q->answer_closed || strcmp(q->stop_reason, "refusal"))
		return 0;
	struct segment *block = segment_text(STR("The model refused to answer."));
	int status = recorder_block(q->config.recorder, &ids, block,
				    &(struct answer_stop){ .reason = "refusal", .usage = &a->usage }, uuid, err);
	segment_unref(block);
	return status;
}

void answer_count(struct query *q, const char *stop_reason)
{
	const struct usage *usage = &q->model.answer.usage;

	usage_add(&q->usage, usage);
	if (q->config.on_usage)
		q->config.on_usage(q->config.data, usage);
	snprintf(q->stop_reason, sizeof q->stop_reason, "%s", stop_reason);
}

void answer_drop(struct query *q)
{
	transcript_cut(&q->transcript, q->answer_from);
	q->superseding = q->shown_count > 0;
	q->text.n = q->text_from;
	if (q->text.p)
		q->text.p[q->text.n] = '\0';
}

/* One request of a query: the governor's slot, the body, tries until the deadline. It asks for the next
 * answer, or for a summary if a compaction is running. */

enum { DEFAULT_DEADLINE_MS = 30 * 60 * 1000 };

enum step query_enter_gate(struct query *q)
{
	if (q->config.on_request)
		q->config.on_request(q, q->config.data);
	/* Between two requests: all tries of one are the same bytes. */
	if (q->next_head) {
		head_unref(q->config.head);
		q->config.head = TAKE(q->next_head);
		if (strcmp(q->config.model, q->next_model) != 0)
			q->measured.bytes_per_token = 0;
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
	governor_enter(endpoint_governor(q->config.endpoint, q->config.model), &q->slot);
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
	if (!q->keeps_reminder)
		body_remind(b, buf_str(&q->reminder));
}

enum step step_gate(struct query *q)
{
	const struct governor *g = q->slot.governor;
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
	    !budget_reserve(q->config.budget, query_providers(q), q->config.model,
			    (int64_t)((double)bytes / (double)query_bytes_per_token(q)), &q->share)) {
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
	governor_leave(&q->slot, outcome, hold_ms);
	budget_return(&q->share);
}

enum step query_try_again(struct query *q)
{
	const struct failure *f = &q->model.failure;
	uint64_t now = loop_now_ms(q->config.loop);
	unsigned most = q->config.endpoint->most_tries;
	int64_t delay_ms = most && q->attempt >= most ? -1 : failure_retry_delay_ms(f, q->attempt, id_random_u64());

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
		size_t n = strlen(last.text);
		if (delay_ms >= 0 && last.retry_after_ms > 0) /* later than the deadline */
			snprintf(last.text + n, sizeof last.text - n, " (the server may be asked again in %lld min)",
				 (long long)(last.retry_after_ms + 59999) / 60000);
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
				       .left_ms = most ? 0 : (int64_t)(q->deadline_ms - now),
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
	governor_enter(endpoint_governor(q->config.endpoint, q->config.model), &q->slot);
	return query_set_state(q, QUERY_GATE);
}
