/* SPDX-License-Identifier: MIT
 * query_answer.c - what an answer brings: its blocks on disk, in the transcript and out as events. */
#include "lib/base/crash.h"
#include "agents/query/query_int.h"

static struct answer_ids ids_of(const struct query *q)
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

static void emit_block(struct query *q, const struct segment *block, const char *uuid)
{
	struct answer_ids ids = ids_of(q);
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
	if (q->shown_count == q->shown_cap) {
		q->shown_cap = q->shown_cap ? q->shown_cap * 2 : 4;
		q->shown = xrealloc(q->shown, q->shown_cap * sizeof *q->shown);
	}
	memcpy(q->shown[q->shown_count++], uuid, sizeof *q->shown);
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
static int take_block(struct query *q, struct segment *block, const struct answer_stop *end, struct err *err)
{
	struct answer_ids ids = ids_of(q);
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
	emit_block(q, block, uuid);
	if (block->kind == SEGMENT_TEXT)
		answer_add_text(&q->text, block);
	int status = block->kind == SEGMENT_TOOL_USE ? calls_add(q, block, err) : 0;
	segment_unref(block);
	return status;
}

/* A cut answer that calls a tool counts, and ends with what is complete of it. */
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
			status = take_block(q, block, over && counts && i + 1 == q->arrived_count ? &end : NULL, err);
		else
			segment_unref(block);
	}
	q->arrived_count = 0;
	return status;
}

/* A turn that ended so is over: without a line it would be one that was cut off. */
int answer_record_refusal(struct query *q, struct err *err)
{
	const struct answer *a = &q->model.answer;
	struct answer_ids ids = ids_of(q);
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
