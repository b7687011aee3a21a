/* SPDX-License-Identifier: MIT
 * reply_event.c - an answer as server-sent events, one at a time, or as one JSON message. */
#include "core/scenario/engine_int.h"

enum { FILLER_PIECE = 4096 };

static const char filler[] = "The quick answer fills the line with words that need no reader  . ";

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

struct str reply_piece(const struct reply_block *b, uint64_t at, uint64_t n, struct buf *made)
{
	if (b->block->kind != BLOCK_FILLER)
		return (struct str){ b->text.p + at, n };
	reply_add_filler(made, at, n);
	return buf_str(made);
}

/* The id says whether thinking of which model stood before the call, so that a request that lost it can be found out. Chat
 * completions do not bring it back. */
const char *reply_tool_id(char out[DIGEST_ID_MAX], const struct reply *r, size_t block)
{
	bool thought = block > r->first_thinking;
	const char *prefix = r->dialect->call_id[thought] ?: "toolu_01";
	char bound[TOOL_MODEL_MAX];

	if (thought && !r->dialect->call_id[true])
		prefix = tool_model_prefix(bound, r->model);
	return digest_id(out, prefix, r->id_a, digest_mix(r->id_b, block + 1));
}

/* Begun blocks are empty: their content comes in deltas. */
static void put_block(struct json_out *w, const struct reply *r, size_t index, bool begun)
{
	const struct reply_block *b = &r->blocks[index];
	AUTO_BUF struct buf made = { 0 };
	struct str text = begun ? STR("") : reply_piece(b, 0, b->text.n, &made);
	char id[REDACTED_MAX];

	switch (b->block->kind) {
	case BLOCK_FILLER:
	case BLOCK_TEXT:
		json_putf(w, "{type:'text', text:'%.*s'}", STR_ARG(text));
		break;
	case BLOCK_THINKING:
		json_putf(w, "{type:'thinking', thinking:'%.*s', signature:'%s'}", STR_ARG(text),
			  begun ? "" : signature_of(id, r->model, text));
		break;
	case BLOCK_REDACTED:
		json_putf(w, "{type:'redacted_thinking', data:'%s'}",
			  redacted_make(id, r->id_a, digest_mix(r->id_b, index + 1)));
		break;
	case BLOCK_CALL:
		text = begun ? STR("{}") : text;
		json_putf(w, "{type:'tool_use', id:'%s', name:'%.*s', input:%.*s}", reply_tool_id(id, r, index),
			  STR_ARG(b->block->name), STR_ARG(text));
		break;
	case BLOCK_GIVEN:
		json_put_raw(w, b->text);
	}
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
	const struct rule *rule = r->rule;
	const char *reason = reply_stop_reason(r);

	json_putf(w, "stop_reason:'%s', stop_sequence:?'%.*s'", reason, STR_ARG(rule->stop_sequence));
	if (!strcmp(reason, "refusal"))
		json_putf(w, "stop_details:{type:'refusal', category:?'%.*s', explanation:?'%.*s'}",
			  STR_ARG(rule->stop_category), STR_ARG(rule->stop_explanation));
	else
		json_putf(w, "stop_details:null");
}

static void put_usage(struct json_out *w, const struct reply *r, unsigned long long output)
{
	const struct usage *u = &r->usage;
	unsigned long long input = u->input, written = u->cache_write, read = u->cache_read;

	json_putf(w,
		  "usage:{input_tokens:%llu, cache_creation_input_tokens:%llu, cache_read_input_tokens:%llu, "
		  "cache_creation:{ephemeral_5m_input_tokens:%llu, ephemeral_1h_input_tokens:%llu}, output_tokens:%llu",
		  input, written, read, u->long_lived ? 0 : written, u->long_lived ? written : 0, output);
	if (r->rule->usage.searches >= 0)
		json_putf(w, "server_tool_use:{web_search_requests:%lld}", (long long)r->rule->usage.searches);
	json_putf(w, "service_tier:'standard'}");
}

static void put_message(struct json_out *w, const struct reply *r, bool begun)
{
	char id[DIGEST_ID_MAX];

	json_putf(w, "{id:'%s', type:'message', role:'assistant', model:'%.*s', content:[",
		  digest_id(id, "msg_01", r->id_a, r->id_b), STR_ARG(r->model));
	for (size_t i = 0; !begun && i < r->block_count; i++)
		put_block(w, r, i, false);
	json_close(w);
	if (begun)
		json_putf(w, "stop_reason:null, stop_sequence:null");
	else
		put_stop(w, r);
	put_usage(w, r, begun ? 1 : r->usage.output);
	json_close(w);
}

void message_json(const struct reply *r, struct buf *out)
{
	struct json_out w = json_out(out);

	if (r->dialect->json)
		r->dialect->json(r, out);
	else
		put_message(&w, r, false);
}

/* index: of a block; -1: not about a block. The caller adds the other members and ends the event. */
static struct json_out begin_event(struct buf *out, const char *name, int64_t index)
{
	buf_addf(out, "event: %s\ndata: ", name);
	struct json_out w = json_out(out);
	json_putf(&w, "{type:'%s'", name);
	if (index >= 0)
		json_ki64(&w, "index", index);
	return w;
}

static void end_event(struct json_out *w)
{
	json_close(w);
	buf_addstr(w->buf, "\n\n");
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
	AUTO_BUF struct buf made = { 0 };
	struct json_out w = begin_event(out, "content_block_delta", (int64_t)r->block);

	json_putf(&w, "delta:{type:'%s'", deltas[b->block->kind].type);
	json_kstr(&w, deltas[b->block->kind].member, reply_piece(b, r->at, n, &made));
	json_close(&w);
	end_event(&w);
	r->at += n;
}

static enum reply_stage stage_in_block(const struct reply *r)
{
	const struct reply_block *b = &r->blocks[r->block];

	if (r->at < b->text.n && b->block->kind != BLOCK_GIVEN)
		return STAGE_DELTA;
	return b->block->kind == BLOCK_THINKING && r->stage != STAGE_SIGNATURE ? STAGE_SIGNATURE : STAGE_BLOCK_STOP;
}

static void put_event(struct reply *r, struct buf *out)
{
	/* The event of a stage, and whether it is about a block */
	static const struct {
		const char *name;
		bool of_block;
	} events[] = {
		[STAGE_START] = { "message_start", false },
		[STAGE_BLOCK_START] = { "content_block_start", true },
		[STAGE_SIGNATURE] = { "content_block_delta", true },
		[STAGE_BLOCK_STOP] = { "content_block_stop", true },
		[STAGE_MESSAGE_DELTA] = { "message_delta", false },
		[STAGE_MESSAGE_STOP] = { "message_stop", false },
	};
	char signature[DIGEST_ID_MAX];

	if (r->stage == STAGE_DELTA) {
		put_delta(r, out);
		r->stage = stage_in_block(r);
		return;
	}
	struct json_out w = begin_event(out, events[r->stage].name, events[r->stage].of_block ? (int64_t)r->block : -1);
	switch (r->stage) {
	case STAGE_START:
		json_key(&w, "message");
		put_message(&w, r, true);
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		json_key(&w, "content_block");
		put_block(&w, r, r->block, true);
		r->stage = stage_in_block(r);
		break;
	case STAGE_SIGNATURE:
		json_putf(&w, "delta:{type:'signature_delta', signature:'%s'}",
			  signature_of(signature, r->model, r->blocks[r->block].text));
		r->stage = STAGE_BLOCK_STOP;
		break;
	case STAGE_BLOCK_STOP:
		r->calls += r->blocks[r->block].block->kind == BLOCK_CALL;
		r->block++;
		r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_MESSAGE_DELTA:
		json_putf(&w, "delta:{");
		put_stop(&w, r);
		json_close(&w);
		put_usage(&w, r, r->usage.output);
		r->stage = STAGE_MESSAGE_STOP;
		break;
	default:
		r->stage = STAGE_OVER;
	}
	end_event(&w);
}

void event_next(struct reply *r, struct buf *out)
{
	uint64_t every = r->rule->pace.ping_every;

	r->events++;
	if (every && !r->pinged && (r->plain_events + 1) % every == 0) {
		buf_addstr(out, r->dialect->event_next ? ": ping\n\n" : "event: ping\ndata: {\"type\":\"ping\"}\n\n");
		r->pinged = true;
		return;
	}
	if (r->dialect->event_next)
		r->dialect->event_next(r, out);
	else
		put_event(r, out);
	r->plain_events++;
	r->pinged = false;
}

void event_error(struct reply *r, const struct fault *fault)
{
	struct buf *out = &r->out;

	if (r->dialect->event_error) {
		r->dialect->event_error(r, fault, out);
		return;
	}
	if (r->dialect->event_next) {
		buf_addstr(out, "data: ");
		r->dialect->error(out, 503, fault->type, fault->message);
		buf_addstr(out, "\n\n");
		return;
	}
	struct json_out w = begin_event(out, "error", -1);
	json_putf(&w, "error:{type:'%.*s', message:'%.*s'}", STR_ARG(fault->type), STR_ARG(fault->message));
	end_event(&w);
}
