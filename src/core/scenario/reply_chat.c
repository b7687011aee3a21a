/* SPDX-License-Identifier: MIT
 * reply_chat.c - an answer as chunks of chat completions, one at a time, or as one JSON object. The stages are those of
 * reply_event.c; a stage without a chunk passes with the one before, so that a call is complete with its last piece. */
#include "lib/json/json_write.h"
#include "core/scenario/engine_int.h"

enum { CREATED_S = 1767225600 }; /* always the same: answers are compared */

static const char *finish_reason(const struct reply *r)
{
	static const struct {
		const char *ours, *theirs;
	} reasons[] = {
		{ "tool_use", "tool_calls" },
		{ "max_tokens", "length" },
		{ "refusal", "content_filter" },
	};

	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		if (!strcmp(reply_stop_reason(r), reasons[i].ours))
			return reasons[i].theirs;
	return "stop";
}

static void add_usage(struct buf *out, const struct usage *u)
{
	unsigned long long input = u->input + u->cache_read + u->cache_write, output = u->output;

	buf_addf(out,
		 "\"usage\":{\"prompt_tokens\":%llu,\"completion_tokens\":%llu,\"total_tokens\":%llu,"
		 "\"prompt_tokens_details\":{\"cached_tokens\":%llu}}",
		 input, output, input + output, (unsigned long long)u->cache_read);
}

/* An object up to the value of choices */
static void begin_object(const struct reply *r, const char *object, struct buf *out)
{
	char id[DIGEST_ID_MAX];

	buf_addf(out, "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%d,\"model\":",
		 digest_id(id, "chatcmpl-", r->id_a, r->id_b), object, CREATED_S);
	json_add_quoted(out, r->model);
	buf_addstr(out, ",\"choices\":");
}

/* A chunk up to the open delta of its one choice */
static void begin_chunk(const struct reply *r, struct buf *out)
{
	buf_addstr(out, "data: ");
	begin_object(r, "chat.completion.chunk", out);
	buf_addstr(out, "[{\"index\":0,\"delta\":{");
}

static void end_chunk(struct buf *out)
{
	buf_addstr(out, "},\"finish_reason\":null}]}\n\n");
}

static void put_delta(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];
	size_t n = reply_delta_len(r, b);
	AUTO_BUF struct buf made = { 0 };

	begin_chunk(r, out);
	if (b->block->kind == BLOCK_CALL)
		buf_addf(out,
			 "\"tool_calls\":[{\"index\":%llu,\"function\":{\"arguments\":", (unsigned long long)r->calls);
	else
		buf_addstr(out, b->block->kind == BLOCK_THINKING ? "\"reasoning_content\":" : "\"content\":");
	if (b->block->kind == BLOCK_FILLER)
		reply_add_filler(&made, r->at, n);
	json_add_quoted(out, made.n ? buf_str(&made) : (struct str){ b->text.p + r->at, n });
	if (b->block->kind == BLOCK_CALL)
		buf_addstr(out, "}}]");
	end_chunk(out);
	r->at += n;
}

static enum stage stage_in_block(const struct reply *r)
{
	return r->at < r->blocks[r->block].text.n ? STAGE_DELTA : STAGE_BLOCK_STOP;
}

/* True: the stage has no chunk, and is over. */
static bool skip_stage(struct reply *r)
{
	enum block_kind kind = r->block < r->block_count ? r->blocks[r->block].block->kind : 0;

	if (r->stage == STAGE_BLOCK_STOP) {
		r->calls += kind == BLOCK_CALL;
		r->block++;
		r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		return true;
	}
	if (r->stage != STAGE_BLOCK_START || kind == BLOCK_CALL)
		return false;
	r->at = 0;
	r->stage = kind == BLOCK_REDACTED || kind == BLOCK_GIVEN ? STAGE_BLOCK_STOP : stage_in_block(r);
	return true;
}

void chat_event_next(struct reply *r, struct buf *out)
{
	char id[DIGEST_ID_MAX];

	switch (r->stage) {
	case STAGE_START:
		begin_chunk(r, out);
		buf_addstr(out, "\"role\":\"assistant\",\"content\":\"\"");
		end_chunk(out);
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		begin_chunk(r, out);
		buf_addf(out,
			 "\"tool_calls\":[{\"index\":%llu,\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":",
			 (unsigned long long)r->calls, reply_tool_id(id, r, r->block));
		json_add_quoted(out, r->blocks[r->block].block->name);
		buf_addstr(out, ",\"arguments\":\"\"}}]");
		end_chunk(out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_DELTA:
		put_delta(r, out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_MESSAGE_DELTA:
		begin_chunk(r, out);
		buf_addf(out, "},\"finish_reason\":\"%s\"}]}\n\n", finish_reason(r));
		r->stage = r->wants_usage ? STAGE_USAGE : STAGE_MESSAGE_STOP;
		break;
	case STAGE_USAGE:
		buf_addstr(out, "data: ");
		begin_object(r, "chat.completion.chunk", out);
		buf_addstr(out, "[],");
		add_usage(out, &r->usage);
		buf_addstr(out, "}\n\n");
		r->stage = STAGE_MESSAGE_STOP;
		break;
	case STAGE_MESSAGE_STOP:
		buf_addstr(out, "data: [DONE]\n\n");
		r->stage = STAGE_OVER;
		break;
	default:
		break;
	}
	while (skip_stage(r))
		;
}

void chat_error(struct buf *out, struct str type, struct str message)
{
	buf_addstr(out, "{\"error\":{\"message\":");
	json_add_quoted(out, message);
	buf_addstr(out, ",\"type\":");
	json_add_quoted(out, type);
	buf_addstr(out, ",\"param\":null,\"code\":null}}");
}

/* ---- without a stream ------------------------------------------------------------------------------------------ */

void chat_json(const struct reply *r, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf thinking = { 0 };
	AUTO_BUF struct buf calls = { 0 };
	char id[DIGEST_ID_MAX];

	for (size_t i = 0; i < r->block_count; i++) {
		const struct reply_block *b = &r->blocks[i];
		if (b->block->kind == BLOCK_FILLER) {
			reply_add_filler(&text, 0, b->text.n);
		} else if (b->block->kind == BLOCK_TEXT) {
			buf_append(&text, b->text);
		} else if (b->block->kind == BLOCK_THINKING) {
			buf_append(&thinking, b->text);
		} else if (b->block->kind == BLOCK_CALL) {
			buf_addf(&calls, "%s{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":",
				 calls.n ? "," : ",\"tool_calls\":[", reply_tool_id(id, r, i));
			json_add_quoted(&calls, b->block->name);
			buf_addstr(&calls, ",\"arguments\":");
			json_add_quoted(&calls, b->text);
			buf_addstr(&calls, "}}");
		}
	}
	begin_object(r, "chat.completion", out);
	buf_addstr(out, "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
	if (text.n)
		json_add_quoted(out, buf_str(&text));
	else
		buf_addstr(out, "null");
	if (thinking.n) {
		buf_addstr(out, ",\"reasoning_content\":");
		json_add_quoted(out, buf_str(&thinking));
	}
	if (calls.n)
		buf_addf(out, "%s]", calls.p);
	buf_addf(out, "},\"finish_reason\":\"%s\"}],", finish_reason(r));
	add_usage(out, &r->usage);
	buf_addch(out, '}');
}
