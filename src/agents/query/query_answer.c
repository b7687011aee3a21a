/* SPDX-License-Identifier: MIT
 * query_answer.c - an answer: its blocks on disk, in the transcript and out as events; its tool calls: which may start,
 * which are done, their results in order. */
#include "lib/base/crash.h"
#include "core/tool/tool.h"
#include "agents/query/query_int.h"

enum { DEFAULT_PARALLEL = 10 };

/* ---- calls of the answer ------------------------------------------------------------------------------------------ */

static void on_call_done(struct tool_call *call)
{
	struct query_call *c = call->owner;

	c->is_done = true;
	query_kick(c->query);
}

static struct query_call *calls_append(struct query *q, struct str id, struct tool_call *call)
{
	struct query_call *c = xcalloc(1, sizeof *c);

	q->calls = xgrow(q->calls, q->call_count, &q->call_cap, sizeof *q->calls);
	q->calls[q->call_count++] = c;
	c->query = q;
	c->id = xstrndup(id.p, id.n);
	c->call = call;
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

static int calls_add(struct query *q, const struct segment *block, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	if (json_parse(&reader, block->bytes, block->len, &root, err) < 0)
		return -ERR_PARSE;
	calls_create(q, json_str(json_get(root, "id"), &arena), json_str(json_get(root, "name"), &arena),
		     json_raw(json_get(root, "input")));
	return 0;
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
		tool_call_free(TAKE(c->call));
	}
	return 0;
}

bool calls_all_done(const struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++)
		if (!q->calls[i]->result && !q->calls[i]->is_done)
			return false;
	return true;
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

/* ---- blocks of the answer ----------------------------------------------------------------------------------------- */

static struct answer_ids answer_ids_of(const struct query *q)
{
	const struct answer *a = &q->model.answer;

	return (struct answer_ids){ a->message_id, a->model, q->model.request_id, q->config.model };
}

void answer_forget_shown(struct query *q)
{
	free(q->shown);
	q->shown = NULL;
	q->shown_count = q->shown_cap = 0;
	q->superseding = false;
}

void answer_add_text(struct buf *out, const struct segment *block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	if (json_parse(&reader, block->bytes, block->len, &root, NULL) < 0)
		return;
	struct str text = json_str(json_get(root, "text"), &arena);
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
	q->shown = xgrow(q->shown, q->shown_count, &q->shown_cap, sizeof *q->shown);
	memcpy(q->shown[q->shown_count++], uuid, sizeof *q->shown);
	if (block->kind == SEGMENT_TEXT)
		answer_add_text(&q->text, block);
	int status = block->kind == SEGMENT_TOOL_USE ? calls_add(q, block, err) : 0;
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
