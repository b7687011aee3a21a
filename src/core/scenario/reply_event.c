/* SPDX-License-Identifier: MIT
 * reply_event.c - an answer as server-sent events, one at a time, or as one JSON message. */
#include "lib/json/json_write.h"
#include "core/scenario/engine_int.h"

enum { FILLER_PIECE = 4096 };

static const char filler[] = "The quick answer fills the line with words that nobody has to read. ";

void reply_add_filler(struct buf *out, uint64_t at, uint64_t n)
{
	const size_t period = sizeof filler - 1;

	buf_reserve(out, n);
	while (n) {
		size_t from = at % period;
		size_t part = MIN(n, period - from);
		buf_add(out, filler + from, part);
		at += part;
		n -= part;
	}
}

/* The id says whether thinking stood before the call, so that a request that lost it can be found out. Chat completions do
 * not bring it back. */
const char *reply_tool_id(char out[DIGEST_ID_MAX], const struct reply *r, size_t block)
{
	const char *prefix = r->chat ? "call_01" : block > r->first_thinking ? "toolu_0T" : "toolu_01";

	return digest_id(out, prefix, r->id_a, digest_mix(r->id_b, block + 1));
}

/* Begun blocks are empty: their content comes in deltas. */
static void put_block(struct json_out *w, const struct reply *r, size_t index, bool begun)
{
	const struct reply_block *b = &r->blocks[index];
	struct str text = begun ? STR("") : b->text;
	char id[REDACTED_MAX];
	AUTO_BUF struct buf made = { 0 };

	if (b->block->kind == BLOCK_GIVEN) {
		json_put_raw(w, b->text);
		return;
	}
	json_open(w, '{');
	switch (b->block->kind) {
	case BLOCK_FILLER:
		if (!begun)
			reply_add_filler(&made, 0, b->text.n);
		text = buf_str(&made);
		__attribute__((fallthrough));
	case BLOCK_TEXT:
		json_kcstr(w, "type", "text");
		json_kstr(w, "text", text);
		break;
	case BLOCK_THINKING:
		json_kcstr(w, "type", "thinking");
		json_kstr(w, "thinking", text);
		json_kcstr(w, "signature", begun ? "" : signature_of(id, text));
		break;
	case BLOCK_REDACTED:
		json_kcstr(w, "type", "redacted_thinking");
		json_kcstr(w, "data", redacted_make(id, r->id_a, digest_mix(r->id_b, index + 1)));
		break;
	case BLOCK_CALL:
		json_kcstr(w, "type", "tool_use");
		json_kcstr(w, "id", reply_tool_id(id, r, index));
		json_kstr(w, "name", b->block->name);
		json_kraw(w, "input", begun ? STR("{}") : text);
		break;
	case BLOCK_GIVEN:
		break;
	}
	json_close(w);
}

const char *reply_stop_reason(const struct reply *r)
{
	if (r->rule->stop)
		return r->rule->stop;
	for (size_t i = 0; i < r->block_count; i++)
		if (r->blocks[i].block->kind == BLOCK_CALL)
			return "tool_use";
	return "end_turn";
}

static void put_stop(struct json_out *w, const struct reply *r)
{
	const char *reason = reply_stop_reason(r);

	json_kcstr(w, "stop_reason", reason);
	json_key(w, "stop_sequence");
	if (r->rule->stop_sequence.n)
		json_put_str(w, r->rule->stop_sequence);
	else
		json_put_null(w);
	json_key(w, "stop_details");
	if (strcmp(reason, "refusal") != 0) {
		json_put_null(w);
		return;
	}
	json_open(w, '{');
	json_kcstr(w, "type", "refusal");
	json_kcstr(w, "category", r->rule->stop_category.n ? r->rule->stop_category.p : NULL);
	json_kcstr(w, "explanation", r->rule->stop_explanation.n ? r->rule->stop_explanation.p : NULL);
	json_close(w);
}

static void put_usage(struct json_out *w, const struct reply *r, uint64_t output)
{
	json_key(w, "usage");
	json_open(w, '{');
	json_ki64(w, "input_tokens", (int64_t)r->usage.input);
	json_ki64(w, "cache_creation_input_tokens", (int64_t)r->usage.cache_write);
	json_ki64(w, "cache_read_input_tokens", (int64_t)r->usage.cache_read);
	json_key(w, "cache_creation");
	json_open(w, '{');
	json_ki64(w, "ephemeral_5m_input_tokens", (int64_t)(r->usage.long_lived ? 0 : r->usage.cache_write));
	json_ki64(w, "ephemeral_1h_input_tokens", (int64_t)(r->usage.long_lived ? r->usage.cache_write : 0));
	json_close(w);
	json_ki64(w, "output_tokens", (int64_t)output);
	if (r->rule->usage.searches >= 0) {
		json_key(w, "server_tool_use");
		json_open(w, '{');
		json_ki64(w, "web_search_requests", r->rule->usage.searches);
		json_close(w);
	}
	json_kcstr(w, "service_tier", "standard");
	json_close(w);
}

static void put_message(struct json_out *w, const struct reply *r, bool begun)
{
	char id[DIGEST_ID_MAX];

	json_open(w, '{');
	json_kcstr(w, "id", digest_id(id, "msg_01", r->id_a, r->id_b));
	json_kcstr(w, "type", "message");
	json_kcstr(w, "role", "assistant");
	json_kstr(w, "model", r->model);
	json_key(w, "content");
	json_open(w, '[');
	for (size_t i = 0; !begun && i < r->block_count; i++)
		put_block(w, r, i, false);
	json_close(w);
	if (begun) {
		json_kraw(w, "stop_reason", STR("null"));
		json_kraw(w, "stop_sequence", STR("null"));
	} else {
		put_stop(w, r);
	}
	put_usage(w, r, begun ? 1 : r->usage.output);
	json_close(w);
}

void message_json(const struct reply *r, struct buf *out)
{
	struct json_out w = json_out(out);

	put_message(&w, r, false);
}

/* index: of a block; -1: not about a block. */
static struct json_out begin_event(struct buf *out, const char *name, int64_t index)
{
	buf_addstr(out, "event: ");
	buf_addstr(out, name);
	buf_addstr(out, "\ndata: ");
	struct json_out w = json_out(out);
	json_open(&w, '{');
	json_kcstr(&w, "type", name);
	if (index >= 0)
		json_ki64(&w, "index", index);
	return w;
}

static void end_event(struct json_out *w)
{
	json_close(w);
	buf_add(w->buf, "\n\n", 2);
}

static const struct {
	const char *type, *member;
} deltas[] = {
	[BLOCK_TEXT] = { "text_delta", "text" },
	[BLOCK_FILLER] = { "text_delta", "text" },
	[BLOCK_THINKING] = { "thinking_delta", "thinking" },
	[BLOCK_CALL] = { "input_json_delta", "partial_json" },
};

/* How many bytes the next delta takes; at least one, and a character is never cut. */
size_t reply_delta_len(const struct reply *r, const struct reply_block *b)
{
	const struct pace *pace = &r->rule->pace;
	uint64_t left = b->text.n - r->at;
	uint64_t want = left;

	if (pace->chunk_pieces)
		want = (b->text.n + pace->chunk_pieces - 1) / pace->chunk_pieces;
	else if (pace->chunk_bytes)
		want = pace->chunk_bytes;
	else if (b->block->kind == BLOCK_FILLER)
		want = FILLER_PIECE;
	if (b->block->whole)
		want = left;
	want = MIN(MAX(want, 1), left);
	while (b->block->kind != BLOCK_FILLER && want < left && ((unsigned char)b->text.p[r->at + want] & 0xc0) == 0x80)
		want++;
	return want;
}

static void put_delta(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];
	size_t n = reply_delta_len(r, b);
	struct json_out w = begin_event(out, "content_block_delta", (int64_t)r->block);

	json_key(&w, "delta");
	json_open(&w, '{');
	json_kcstr(&w, "type", deltas[b->block->kind].type);
	json_key(&w, deltas[b->block->kind].member);
	if (b->block->kind == BLOCK_FILLER) {
		json_put_raw(&w, STR("\""));
		reply_add_filler(out, r->at, n);
		buf_addch(out, '"');
	} else {
		json_put_str(&w, (struct str){ b->text.p + r->at, n });
	}
	json_close(&w);
	end_event(&w);
	r->at += n;
}

static enum stage stage_in_block(const struct reply *r)
{
	const struct reply_block *b = &r->blocks[r->block];

	if (r->at < b->text.n && b->block->kind != BLOCK_GIVEN)
		return STAGE_DELTA;
	return b->block->kind == BLOCK_THINKING && r->stage != STAGE_SIGNATURE ? STAGE_SIGNATURE : STAGE_BLOCK_STOP;
}

static void put_event(struct reply *r, struct buf *out)
{
	int64_t index = (int64_t)r->block;
	char signature[DIGEST_ID_MAX];
	struct json_out w;

	switch (r->stage) {
	case STAGE_START:
		w = begin_event(out, "message_start", -1);
		json_key(&w, "message");
		put_message(&w, r, true);
		end_event(&w);
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		w = begin_event(out, "content_block_start", index);
		json_key(&w, "content_block");
		put_block(&w, r, r->block, true);
		end_event(&w);
		r->stage = stage_in_block(r);
		break;
	case STAGE_DELTA:
		put_delta(r, out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_SIGNATURE:
		w = begin_event(out, "content_block_delta", index);
		json_key(&w, "delta");
		json_open(&w, '{');
		json_kcstr(&w, "type", "signature_delta");
		json_kcstr(&w, "signature", signature_of(signature, r->blocks[r->block].text));
		json_close(&w);
		end_event(&w);
		r->stage = STAGE_BLOCK_STOP;
		break;
	case STAGE_BLOCK_STOP:
		w = begin_event(out, "content_block_stop", index);
		end_event(&w);
		r->calls += r->blocks[r->block].block->kind == BLOCK_CALL;
		r->block++;
		r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_MESSAGE_DELTA:
		w = begin_event(out, "message_delta", -1);
		json_key(&w, "delta");
		json_open(&w, '{');
		put_stop(&w, r);
		json_close(&w);
		put_usage(&w, r, r->usage.output);
		end_event(&w);
		r->stage = STAGE_MESSAGE_STOP;
		break;
	case STAGE_MESSAGE_STOP:
		w = begin_event(out, "message_stop", -1);
		end_event(&w);
		r->stage = STAGE_OVER;
		break;
	case STAGE_USAGE:
	case STAGE_OVER:
		break;
	}
}

void event_next(struct reply *r, struct buf *out)
{
	uint64_t every = r->rule->pace.ping_every;

	r->events++;
	if (every && !r->pinged && (r->plain_events + 1) % every == 0) {
		buf_addstr(out, r->chat ? ": ping\n\n" : "event: ping\ndata: {\"type\":\"ping\"}\n\n");
		r->pinged = true;
		return;
	}
	if (r->chat)
		chat_event_next(r, out);
	else
		put_event(r, out);
	r->plain_events++;
	r->pinged = false;
}

void event_error(const struct fault *fault, struct buf *out)
{
	struct json_out w = begin_event(out, "error", -1);

	json_key(&w, "error");
	json_open(&w, '{');
	json_kstr(&w, "type", fault->type);
	json_kstr(&w, "message", fault->message);
	json_close(&w);
	end_event(&w);
}
