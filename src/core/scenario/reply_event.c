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
	bool thought = block > r->first_thinking;
	const char *prefix = r->dialect == DIALECT_CHAT || (r->dialect != DIALECT_MESSAGES && !thought) ? "call_01"
			     : r->dialect != DIALECT_MESSAGES                                           ? "call_0T"
			     : thought                                                                  ? "toolu_0T"
													: "toolu_01";

	return digest_id(out, prefix, r->id_a, digest_mix(r->id_b, block + 1));
}

/* Begun blocks are empty: their content comes in deltas. */
static void add_block(struct buf *out, const struct reply *r, size_t index, bool begun)
{
	const struct reply_block *b = &r->blocks[index];
	struct str text = begun ? STR("") : b->text;
	AUTO_BUF struct buf made = { 0 };
	char id[REDACTED_MAX];

	switch (b->block->kind) {
	case BLOCK_FILLER:
		if (!begun)
			reply_add_filler(&made, 0, b->text.n);
		text = buf_str(&made);
		__attribute__((fallthrough));
	case BLOCK_TEXT:
		buf_addstr(out, "{\"type\":\"text\",\"text\":");
		json_add_quoted(out, text);
		break;
	case BLOCK_THINKING:
		buf_addstr(out, "{\"type\":\"thinking\",\"thinking\":");
		json_add_quoted(out, text);
		buf_addf(out, ",\"signature\":\"%s\"", begun ? "" : signature_of(id, text));
		break;
	case BLOCK_REDACTED:
		buf_addf(out, "{\"type\":\"redacted_thinking\",\"data\":\"%s\"",
			 redacted_make(id, r->id_a, digest_mix(r->id_b, index + 1)));
		break;
	case BLOCK_CALL:
		buf_addf(out, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":", reply_tool_id(id, r, index));
		json_add_quoted(out, b->block->name);
		text = begun ? STR("{}") : text;
		buf_addstr(out, ",\"input\":");
		buf_append(out, text);
		break;
	case BLOCK_GIVEN:
		buf_append(out, b->text);
		return;
	}
	buf_addch(out, '}');
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

static void add_text_or_null(struct buf *out, const char *before, struct str text)
{
	buf_addstr(out, before);
	if (text.n)
		json_add_quoted(out, text);
	else
		buf_addstr(out, "null");
}

static void add_stop(struct buf *out, const struct reply *r)
{
	const char *reason = reply_stop_reason(r);

	buf_addf(out, "\"stop_reason\":\"%s\"", reason);
	add_text_or_null(out, ",\"stop_sequence\":", r->rule->stop_sequence);
	if (strcmp(reason, "refusal") != 0) {
		buf_addstr(out, ",\"stop_details\":null");
		return;
	}
	add_text_or_null(out, ",\"stop_details\":{\"type\":\"refusal\",\"category\":", r->rule->stop_category);
	add_text_or_null(out, ",\"explanation\":", r->rule->stop_explanation);
	buf_addch(out, '}');
}

static void add_usage(struct buf *out, const struct reply *r, unsigned long long output)
{
	const struct usage *u = &r->usage;
	unsigned long long input = u->input, written = u->cache_write, read = u->cache_read;

	buf_addf(
		out,
		",\"usage\":{\"input_tokens\":%llu,\"cache_creation_input_tokens\":%llu,\"cache_read_input_tokens\":%llu,"
		"\"cache_creation\":{\"ephemeral_5m_input_tokens\":%llu,\"ephemeral_1h_input_tokens\":%llu},"
		"\"output_tokens\":%llu",
		input, written, read, u->long_lived ? 0 : written, u->long_lived ? written : 0, output);
	if (r->rule->usage.searches >= 0)
		buf_addf(out, ",\"server_tool_use\":{\"web_search_requests\":%lld}",
			 (long long)r->rule->usage.searches);
	buf_addstr(out, ",\"service_tier\":\"standard\"}");
}

static void event_add_message(struct buf *out, const struct reply *r, bool begun)
{
	char id[DIGEST_ID_MAX];

	buf_addf(out, "{\"id\":\"%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":",
		 digest_id(id, "msg_01", r->id_a, r->id_b));
	json_add_quoted(out, r->model);
	buf_addstr(out, ",\"content\":[");
	for (size_t i = 0; !begun && i < r->block_count; i++) {
		if (i)
			buf_addch(out, ',');
		add_block(out, r, i, false);
	}
	buf_addstr(out, "],");
	if (begun)
		buf_addstr(out, "\"stop_reason\":null,\"stop_sequence\":null");
	else
		add_stop(out, r);
	add_usage(out, r, begun ? 1 : r->usage.output);
	buf_addch(out, '}');
}

void message_json(const struct reply *r, struct buf *out)
{
	if (r->dialect == DIALECT_CHAT)
		chat_json(r, out);
	else if (r->dialect == DIALECT_RESPONSES)
		responses_json(r, out);
	else if (r->dialect == DIALECT_GEMINI)
		gemini_json(r, out);
	else
		event_add_message(out, r, false);
}

/* index: of a block; -1: not about a block. The caller adds the other members and "}\n\n". */
static void begin_event(struct buf *out, const char *name, int64_t index)
{
	buf_addf(out, "event: %s\ndata: {\"type\":\"%s\"", name, name);
	if (index >= 0)
		buf_addf(out, ",\"index\":%lld", (long long)index);
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

	begin_event(out, "content_block_delta", (int64_t)r->block);
	buf_addf(out, ",\"delta\":{\"type\":\"%s\",\"%s\":", deltas[b->block->kind].type,
		 deltas[b->block->kind].member);
	if (b->block->kind == BLOCK_FILLER) {
		buf_addch(out, '"');
		reply_add_filler(out, r->at, n);
		buf_addch(out, '"');
	} else {
		json_add_quoted(out, (struct str){ b->text.p + r->at, n });
	}
	buf_addstr(out, "}}\n\n");
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

	switch (r->stage) {
	case STAGE_START:
		begin_event(out, "message_start", -1);
		buf_addstr(out, ",\"message\":");
		event_add_message(out, r, true);
		buf_addstr(out, "}\n\n");
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		begin_event(out, "content_block_start", index);
		buf_addstr(out, ",\"content_block\":");
		add_block(out, r, r->block, true);
		buf_addstr(out, "}\n\n");
		r->stage = stage_in_block(r);
		break;
	case STAGE_DELTA:
		put_delta(r, out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_SIGNATURE:
		begin_event(out, "content_block_delta", index);
		buf_addf(out, ",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"%s\"}}\n\n",
			 signature_of(signature, r->blocks[r->block].text));
		r->stage = STAGE_BLOCK_STOP;
		break;
	case STAGE_BLOCK_STOP:
		begin_event(out, "content_block_stop", index);
		buf_addstr(out, "}\n\n");
		r->calls += r->blocks[r->block].block->kind == BLOCK_CALL;
		r->block++;
		r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_MESSAGE_DELTA:
		begin_event(out, "message_delta", -1);
		buf_addstr(out, ",\"delta\":{");
		add_stop(out, r);
		buf_addch(out, '}');
		add_usage(out, r, r->usage.output);
		buf_addstr(out, "}\n\n");
		r->stage = STAGE_MESSAGE_STOP;
		break;
	case STAGE_MESSAGE_STOP:
		begin_event(out, "message_stop", -1);
		buf_addstr(out, "}\n\n");
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
		buf_addstr(out, r->dialect != DIALECT_MESSAGES ? ": ping\n\n"
							       : "event: ping\ndata: {\"type\":\"ping\"}\n\n");
		r->pinged = true;
		return;
	}
	if (r->dialect == DIALECT_CHAT)
		chat_event_next(r, out);
	else if (r->dialect == DIALECT_RESPONSES)
		responses_event_next(r, out);
	else if (r->dialect == DIALECT_GEMINI)
		gemini_event_next(r, out);
	else
		put_event(r, out);
	r->plain_events++;
	r->pinged = false;
}

void event_error(struct reply *r, const struct fault *fault)
{
	struct buf *out = &r->out;

	if (r->dialect == DIALECT_RESPONSES) {
		responses_event_error(r, fault, out);
		return;
	}
	if (r->dialect == DIALECT_CHAT || r->dialect == DIALECT_GEMINI) {
		buf_addstr(out, "data: ");
		if (r->dialect == DIALECT_CHAT)
			chat_error(out, fault->type, fault->message);
		else
			gemini_error(out, 503, fault->type, fault->message);
		buf_addstr(out, "\n\n");
		return;
	}
	begin_event(out, "error", -1);
	buf_addstr(out, ",\"error\":{\"type\":");
	json_add_quoted(out, fault->type);
	buf_addstr(out, ",\"message\":");
	json_add_quoted(out, fault->message);
	buf_addstr(out, "}}\n\n");
}
