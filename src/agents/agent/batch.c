/* SPDX-License-Identifier: MIT
 * batch.c - PostToolBatch. */
#include "agents/agent/batch.h"
#include "lib/json/json_write.h"
#include "agents/agent/firing.h"
#include "agents/agent/tree.h"

/* Owned by itself: a turn that is cancelled does not wait for it. */
struct batch {
	struct agent *agent; /* NULL: the turn is over */
	struct hook_firing *firing;
};

static const struct segment *result_of(const struct query *q, const struct json *id)
{
	for (uint32_t i = 0; i < q->call_count; i++)
		if (json_str_is(id, q->calls[i]->id))
			return q->calls[i]->result;
	return NULL;
}

/* What the model will be told, a text or blocks */
static void put_response(struct json_out *w, const struct segment *result)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, result->bytes, result->len, &root, NULL) == 0)
		json_kraw(w, "tool_response", json_raw(json_get(root, "content")));
}

static void put_call(struct json_out *w, const struct query *q, struct str block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, block.p, block.n, &root, NULL) < 0)
		return;
	const struct segment *result = result_of(q, json_get(root, "id"));
	if (!result)
		return;
	json_open(w, '{');
	json_kraw(w, "tool_name", json_raw(json_get(root, "name")));
	json_kraw(w, "tool_input", json_raw(json_get(root, "input")));
	json_kraw(w, "tool_use_id", json_raw(json_get(root, "id")));
	put_response(w, result);
	json_close(w);
}

/* The calls are blocks of the last message. */
static void put_calls(struct json_out *w, const struct query *q)
{
	const struct transcript *t = &q->transcript;
	uint32_t first = transcript_count(t);

	while (first > 0 && transcript_block(t, first - 1).role == ROLE_ASSISTANT)
		first--;
	json_open(w, '{');
	json_key(w, "tool_calls");
	json_open(w, '[');
	for (uint32_t i = first; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_USE)
			put_call(w, q, b.json);
	}
	json_close(w);
	json_close(w);
}

static void on_seen(void *data, const struct hook_outcome *outcome)
{
	struct batch *b = data;
	struct agent *a = b->agent;

	free(b);
	if (!a)
		return;
	a->batch = NULL;
	struct hook_outcome said = *outcome;
	if (said.blocked && !said.stop) {
		said.stop = true;
		said.stop_reason = said.block_reason;
	}
	agent_apply_hook_outcome(a, &said);
	query_batch_over(&a->query);
}

bool agent_show_batch(struct agent *a)
{
	struct hook_fire_spec spec = { .event = HOOK_POST_TOOL_BATCH };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(a, &spec))
		return false;
	put_calls(&w, &a->query);
	spec.fields = buf_str(&fields);
	a->batch = xcalloc(1, sizeof *a->batch);
	a->batch->agent = a;
	a->batch->firing = agent_run_hooks(a, &spec, on_seen, a->batch);
	return true;
}

void agent_drop_batch(struct agent *a)
{
	if (!a->batch)
		return;
	hook_cancel(a->batch->firing);
	TAKE(a->batch)->agent = NULL;
}
