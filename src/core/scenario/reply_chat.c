/* SPDX-License-Identifier: MIT
 * reply_chat.c - an answer as chunks of chat completions, one at a time, or as one JSON object. The stages are those of
 * reply_event.c; those that have no chunk here skip_stage with the one before, so that a call is complete with its last piece. */
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

static void put_usage(struct json_out *w, const struct usage *u)
{
	uint64_t input = u->input + u->cache_read + u->cache_write;

	json_key(w, "usage");
	json_open(w, '{');
	json_ki64(w, "prompt_tokens", (int64_t)input);
	json_ki64(w, "completion_tokens", (int64_t)u->output);
	json_ki64(w, "total_tokens", (int64_t)(input + u->output));
	json_key(w, "prompt_tokens_details");
	json_open(w, '{');
	json_ki64(w, "cached_tokens", (int64_t)u->cache_read);
	json_close(w);
	json_close(w);
}

static void put_head(struct json_out *w, const struct reply *r, const char *object)
{
	char id[DIGEST_ID_MAX];

	json_kcstr(w, "id", digest_id(id, "chatcmpl-", r->id_a, r->id_b));
	json_kcstr(w, "object", object);
	json_ki64(w, "created", CREATED_S);
	json_kstr(w, "model", r->model);
}

/* A chunk up to the open delta of its one choice */
static struct json_out begin_chunk(const struct reply *r, struct buf *out)
{
	buf_addstr(out, "data: ");
	struct json_out w = json_out(out);
	json_open(&w, '{');
	put_head(&w, r, "chat.completion.chunk");
	json_key(&w, "choices");
	json_open(&w, '[');
	json_open(&w, '{');
	json_ki64(&w, "index", 0);
	json_key(&w, "delta");
	json_open(&w, '{');
	return w;
}

static void close_choice(struct json_out *w, const char *reason)
{
	json_close(w);
	json_kcstr(w, "finish_reason", reason);
	json_close(w);
	json_close(w); /* the list */
}

static void end_chunk(struct json_out *w, const char *reason)
{
	close_choice(w, reason);
	json_close(w);
	buf_add(w->buf, "\n\n", 2);
}

static void open_call(struct json_out *w, const struct reply *r)
{
	json_key(w, "tool_calls");
	json_open(w, '[');
	json_open(w, '{');
	json_ki64(w, "index", (int64_t)r->calls);
}

static void put_piece(struct json_out *w, const struct reply *r, const char *member, size_t n)
{
	const struct reply_block *b = &r->blocks[r->block];
	AUTO_BUF struct buf made = { 0 };

	if (b->block->kind == BLOCK_FILLER)
		reply_add_filler(&made, r->at, n);
	json_kstr(w, member, made.n ? buf_str(&made) : (struct str){ b->text.p + r->at, n });
}

static void put_delta(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];
	size_t n = reply_delta_len(r, b);
	struct json_out w = begin_chunk(r, out);

	if (b->block->kind == BLOCK_CALL) {
		open_call(&w, r);
		json_key(&w, "function");
		json_open(&w, '{');
		put_piece(&w, r, "arguments", n);
		json_close(&w);
		json_close(&w);
		json_close(&w);
	} else {
		put_piece(&w, r, b->block->kind == BLOCK_THINKING ? "reasoning_content" : "content", n);
	}
	end_chunk(&w, NULL);
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
	struct json_out w;

	switch (r->stage) {
	case STAGE_START:
		w = begin_chunk(r, out);
		json_kcstr(&w, "role", "assistant");
		json_kcstr(&w, "content", "");
		end_chunk(&w, NULL);
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		w = begin_chunk(r, out);
		open_call(&w, r);
		json_kcstr(&w, "id", reply_tool_id(id, r, r->block));
		json_kcstr(&w, "type", "function");
		json_key(&w, "function");
		json_open(&w, '{');
		json_kstr(&w, "name", r->blocks[r->block].block->name);
		json_kcstr(&w, "arguments", "");
		json_close(&w);
		json_close(&w);
		json_close(&w);
		end_chunk(&w, NULL);
		r->stage = stage_in_block(r);
		break;
	case STAGE_DELTA:
		put_delta(r, out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_MESSAGE_DELTA:
		w = begin_chunk(r, out);
		end_chunk(&w, finish_reason(r));
		r->stage = r->wants_usage ? STAGE_USAGE : STAGE_MESSAGE_STOP;
		break;
	case STAGE_USAGE:
		buf_addstr(out, "data: ");
		w = json_out(out);
		json_open(&w, '{');
		put_head(&w, r, "chat.completion.chunk");
		json_kraw(&w, "choices", STR("[]"));
		put_usage(&w, &r->usage);
		json_close(&w);
		buf_add(out, "\n\n", 2);
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

void chat_event_error(const struct fault *fault, struct buf *out)
{
	buf_addstr(out, "data: ");
	chat_error(out, fault->type, fault->message);
	buf_addstr(out, "\n\n");
}

void chat_error(struct buf *out, struct str type, struct str message)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_key(&w, "error");
	json_open(&w, '{');
	json_kstr(&w, "message", message);
	json_kstr(&w, "type", type);
	json_kcstr(&w, "param", NULL);
	json_kcstr(&w, "code", NULL);
	json_close(&w);
	json_close(&w);
}

/* ---- without a stream ------------------------------------------------------------------------------------------ */

static void put_texts(struct json_out *w, const struct reply *r, const char *member, bool thinking)
{
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; i < r->block_count; i++) {
		const struct reply_block *b = &r->blocks[i];
		if (b->block->kind == BLOCK_FILLER && !thinking)
			reply_add_filler(&text, 0, b->text.n);
		else if (b->block->kind == (thinking ? BLOCK_THINKING : BLOCK_TEXT))
			buf_add(&text, b->text.p, b->text.n);
	}
	if (text.n)
		json_kstr(w, member, buf_str(&text));
	else if (!thinking)
		json_kcstr(w, member, NULL);
}

void chat_json(const struct reply *r, struct buf *out)
{
	struct json_out w = json_out(out);
	char id[DIGEST_ID_MAX];

	json_open(&w, '{');
	put_head(&w, r, "chat.completion");
	json_key(&w, "choices");
	json_open(&w, '[');
	json_open(&w, '{');
	json_ki64(&w, "index", 0);
	json_key(&w, "message");
	json_open(&w, '{');
	json_kcstr(&w, "role", "assistant");
	put_texts(&w, r, "content", false);
	put_texts(&w, r, "reasoning_content", true);
	bool open = false;
	for (size_t i = 0; i < r->block_count; i++) {
		if (r->blocks[i].block->kind != BLOCK_CALL)
			continue;
		if (!open) {
			json_key(&w, "tool_calls");
			json_open(&w, '[');
			open = true;
		}
		json_open(&w, '{');
		json_kcstr(&w, "id", reply_tool_id(id, r, i));
		json_kcstr(&w, "type", "function");
		json_key(&w, "function");
		json_open(&w, '{');
		json_kstr(&w, "name", r->blocks[i].block->name);
		json_kstr(&w, "arguments", r->blocks[i].text);
		json_close(&w);
		json_close(&w);
	}
	if (open)
		json_close(&w);
	close_choice(&w, finish_reason(r));
	put_usage(&w, &r->usage);
	json_close(&w);
}
