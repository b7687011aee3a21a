/* SPDX-License-Identifier: MIT
 * query_calls.c - the tool calls of one answer: which may start, which are done, their results in order. */
#include "lib/base/crash.h"
#include "core/tool/tool_scheduler.h"
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
	struct query_call *c = xcalloc(1, sizeof *c);

	if (q->call_count == q->call_cap) {
		q->call_cap = q->call_cap ? q->call_cap * 2 : 4;
		q->calls = xrealloc(q->calls, q->call_cap * sizeof *q->calls);
	}
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

static struct query_call *add_new(struct query *q, struct str id, struct str name, struct str input)
{
	const struct tool *tool = tool_set_find(q->config.tools, name);

	return calls_append(q, id, tool_call_new(q->config.env, q->config.gate, tool, id, name, input));
}

int calls_add(struct query *q, const struct segment *block, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	if (json_parse(&reader, block->bytes, block->len, &root, err) < 0)
		return -ERR_PARSE;
	add_new(q, json_str(json_get(root, "id"), &arena), json_str(json_get(root, "name"), &arena),
		json_raw(json_get(root, "input")));
	return 0;
}

/* Takes result. */
static int record(struct query *q, struct query_call *c, struct segment *result, struct str tool_use_result,
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
	struct query_call *c = add_new(q, id, name, input);
	c->call->again = true;
	if (run && c->call->tool && (c->call->flags & (TOOL_READ_ONLY | TOOL_RESUMES)))
		return 0;
	c->is_done = true;
	return record(q, c, segment_lost_result(id), STR(""), err);
}

static bool delegates(const struct query_call *c)
{
	return c->call && (c->call->flags & TOOL_DELEGATES);
}

/* All wait until the lines that say so are as safe as the settings want. */
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

static struct segment *result_of(const struct tool_call *call)
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
		struct segment *result = result_of(call);
		if (record(q, c, result, buf_str(&call->result_json), err) < 0)
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

bool query_only_delegates(const struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++)
		if (!q->calls[i]->result && !q->calls[i]->is_done && !delegates(q->calls[i]))
			return false;
	return q->state == QUERY_TOOLS;
}

bool calls_all_done(const struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++)
		if (!q->calls[i]->result && !q->calls[i]->is_done)
			return false;
	return true;
}

/* Calls that were not started yet are done at once: they never ran. */
void calls_cancel(struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++) {
		if (!q->calls[i]->result && !q->calls[i]->is_done)
			tool_scheduler_cancel(q->calls[i]->call);
	}
}

/* Of a call whose result could not be recorded, or that a loaded session never ran: it needs an answer anyway. */
static struct segment *unrecorded_result(const struct tool_call *call)
{
	return call->finished ? result_of(call) : segment_lost_result(str_from(call->id));
}

void calls_settle(struct query *q)
{
	for (uint32_t i = 0; i < q->call_count; i++) {
		struct query_call *c = q->calls[i];
		transcript_add(&q->transcript, ROLE_USER, c->result ? c->result : unrecorded_result(c->call));
		tool_call_free(c->call);
		free(c->id);
		free(c);
	}
	free(q->calls);
	q->calls = NULL;
	q->call_count = q->call_cap = 0;
}
