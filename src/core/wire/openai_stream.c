/* SPDX-License-Identifier: MIT
 * openai_stream.c - chat-completion chunks in, events out. Servers differ: missing parts are generated, repeated ones
 * are used once, unknown ones are skipped. */
#include "core/wire/openai_stream.h"
#include "core/wire/openai_request.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"

enum { BYTES_PER_TOKEN = 4 }; /* of an estimate */
enum { SHORTEST_MESSAGE_ID = 20, MESSAGE_ID_DIGITS = 16, CALL_ID_DIGITS = 24, MOST_CALLS = 1024 };

static void protocol_error(struct chat_stream *s, const char *what)
{
	if (!s->answer->failure.kind)
		failure_set(&s->answer->failure, FAIL_GARBAGE, "the answer breaks the protocol: %s", what);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void send_event(struct chat_stream *s)
{
	answer_event(s->answer, buf_str(&s->event));
	buf_clear(&s->event);
}

static void stop_block(struct chat_stream *s)
{
	if (s->open == CHAT_NO_BLOCK)
		return;
	buf_addf(&s->event, "{\"type\":\"content_block_stop\",\"index\":%u}", s->blocks - 1);
	send_event(s);
	s->open = CHAT_NO_BLOCK;
}

/* ---- text and reasoning ---------------------------------------------------------------------------------------- */

static void add_piece(struct chat_stream *s, bool thinking, const struct json *piece)
{
	int kind = thinking ? CHAT_BLOCK_THINKING : CHAT_BLOCK_TEXT;
	const char *type = thinking ? "thinking" : "text";

	if (!json_is(piece, JSON_STRING) || !piece->len)
		return;
	if ((int)s->open != kind) {
		stop_block(s);
		buf_addf(
			&s->event,
			"{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":{\"type\":\"%s\",\"%s\":\"\"%s}}",
			s->blocks++, type, type, thinking ? ",\"signature\":\"\"" : "");
		send_event(s);
		s->open = kind;
	}
	struct str raw = json_raw(piece);
	s->answer_bytes += piece->len;
	buf_addf(&s->event,
		 "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"%s_delta\",\"%s\":" STR_FMT "}}",
		 s->blocks - 1, type, type, STR_ARG(raw));
	send_event(s);
}

/* Most servers send a string, some a list of parts: texts, thoughts (which may be parts again), a refusal. */
static void add_content(struct chat_stream *s, bool thinking, const struct json *content)
{
	if (!json_is(content, JSON_ARRAY)) {
		add_piece(s, thinking, content);
		return;
	}
	for (const struct json *part = json_first(content); part; part = json_next(content, part)) {
		const struct json *type = json_get(part, "type");
		struct str refusal = json_str(json_get(part, "refusal"), &s->scratch);
		if (json_str_is(type, "thinking") || json_str_is(type, "reasoning"))
			add_content(s, true, json_get(part, json_get(part, "thinking") ? "thinking" : "text"));
		else
			add_piece(s, thinking, json_is(part, JSON_STRING) ? part : json_get(part, "text"));
		buf_add(&s->refusal, refusal.p, refusal.n);
	}
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* Adds one element of tool_calls. Pieces belong together by their index. Without one they belong to the call before, unless
 * they name a tool. Some servers give every call the same index, and a new id. */
static void add_call_piece(struct chat_stream *s, const struct json *piece)
{
	struct chat_calls *c = &s->calls;
	const struct json *function = json_get(piece, "function");
	const struct json *arguments = json_get(function, "arguments");
	struct str id = json_str(json_get(piece, "id"), &s->scratch);
	struct str name = json_str(json_get(function, "name"), &s->scratch);
	struct str text = json_is(arguments, JSON_OBJECT) ? json_raw(arguments) : json_str(arguments, &s->scratch);
	struct chat_call *call = NULL;
	int64_t index = -1;

	(void)json_i64(json_get(piece, "index"), &index);
	for (uint32_t i = c->count; i-- > 0 && !call;) {
		struct chat_call *old = &c->list[i];
		bool other_id = id.n && old->id.n && !str_eq(id, buf_str(&old->id));
		if (old->index == index && !other_id && (index >= 0 || !name.n || (id.n && old->id.n)))
			call = old;
	}
	if (!call && c->count == MOST_CALLS) {
		protocol_error(s, "too many calls");
		return;
	}
	if (!call && c->count == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 4;
		c->list = xrealloc(c->list, c->cap * sizeof *c->list);
	}
	if (!call) {
		call = &c->list[c->count++];
		*call = (struct chat_call){ .index = index };
	}
	if (!call->id.n)
		buf_add(&call->id, id.p, id.n);
	if (!call->name.n)
		buf_add(&call->name, name.p, name.n);
	buf_add(&call->arguments, text.p, text.n);
	s->answer_bytes += text.n;
}

/* An id must match the pattern of the Messages API, because the session may continue there, and be unique. A text that
 * quotes the id also counts as a duplicate, which only costs a new id. */
static bool is_usable_id(const struct chat_stream *s, uint32_t call)
{
	AUTO_BUF struct buf quoted = { 0 };
	struct str id = buf_str(&s->calls.list[call].id);
	const struct transcript *t = s->history;

	if (!id.n || id.n > CHAT_LONGEST_ID)
		return false;
	for (size_t i = 0; i < id.n; i++)
		if (!char_in(id.p[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
			return false;
	for (uint32_t i = 0; i < call; i++)
		if (str_eq(buf_str(&s->calls.list[i].id), id))
			return false;
	json_add_quoted(&quoted, id);
	for (uint32_t i = 0; t && i < t->packed_chunk_count; i++)
		if (str_has((struct str){ t->packed_chunks[i]->bytes, t->packed_chunks[i]->len }, buf_str(&quoted)))
			return false;
	for (uint32_t i = 0; t && i < t->tail_count; i++)
		if (str_has(segment_json(t->tail[i].segment), buf_str(&quoted)))
			return false;
	return true;
}

static void send_call(struct chat_stream *s, const struct chat_call *call)
{
	struct str name = buf_str(&call->name);

	for (const struct chat_name *n = s->names; n; n = n->next)
		if (str_eq(n->sent, name))
			name = n->own;
	buf_addf(
		&s->event,
		"{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":{\"type\":\"tool_use\",\"id\":\"%s\","
		"\"name\":",
		s->blocks++, call->id.p);
	json_add_quoted(&s->event, name);
	buf_addstr(&s->event, ",\"input\":{}}}");
	send_event(s);
	buf_addf(
		&s->event,
		"{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":",
		s->blocks - 1);
	json_add_quoted(&s->event, buf_str(&call->arguments));
	buf_addstr(&s->event, "}}");
	send_event(s);
	s->open = CHAT_BLOCK_CALL;
	stop_block(s);
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* The server said why it stopped. A call that the limit cut before its arguments must not run without any. */
static void chat_stream_finish(struct chat_stream *s, struct str reason)
{
	/* DeepSeek, OpenRouter, Z.ai, vLLM: the answer is torn. */
	static const char *const torn[] = { "insufficient_system_resource", "error", "network_error", "abort" };

	if (s->stop_reason)
		return;
	for (size_t i = 0; i < COUNT_OF(torn); i++) {
		if (!str_is(reason, torn[i]))
			continue;
		failure_set(&s->answer->failure, FAIL_GARBAGE, "the server gave up in the middle of its answer (%s)",
			    torn[i]);
		return;
	}
	uint32_t count = s->calls.count;
	if (str_is(reason, "content_filter") || str_is(reason, "sensitive") || s->refusal.n)
		s->stop_reason = "refusal";
	else if (str_is(reason, "length"))
		s->stop_reason = "max_tokens";
	else if (str_is(reason, "model_context_window_exceeded") || str_is(reason, "model_length")) /* Z.ai, Mistral */
		s->stop_reason = "model_context_window_exceeded";
	else
		s->stop_reason = s->calls.count ? "tool_use" : "end_turn"; /* some servers report "stop" after a call */
	stop_block(s);
	if (count && str_is(reason, "length") && !s->calls.list[count - 1].arguments.n)
		count--;
	for (uint32_t i = 0; i < count; i++) {
		struct chat_call *call = &s->calls.list[i];
		if (!is_usable_id(s, i)) {
			char digits[CALL_ID_DIGITS + 1];
			id_random(digits, CALL_ID_DIGITS, "0123456789abcdefghijklmnopqrstuvwxyz");
			buf_clear(&call->id);
			buf_addf(&call->id, "call_%s", digits);
		}
		send_call(s, call);
	}
}

static void close_message(struct chat_stream *s)
{
	if (s->over)
		return;
	s->over = true;
	if (!s->has_usage)
		s->usage = (struct usage){ .input = (int64_t)(s->request_bytes / BYTES_PER_TOKEN),
					   .output = (int64_t)(s->answer_bytes / BYTES_PER_TOKEN) + 1,
					   .estimated = true };
	struct json_out w = json_out(&s->event);
	buf_addf(&s->event, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null",
		 s->stop_reason);
	if (!strcmp(s->stop_reason, "refusal")) {
		buf_addstr(&s->event, ",\"stop_details\":{\"type\":\"refusal\",\"explanation\":");
		json_add_quoted(&s->event, s->refusal.n ? buf_str(&s->refusal) : STR("the server's content filter"));
		buf_addch(&s->event, '}');
	}
	buf_addstr(&s->event, "},\"usage\":");
	usage_write(&w, &s->usage);
	buf_addch(&s->event, '}');
	send_event(s);
	buf_addstr(&s->event, "{\"type\":\"message_stop\"}");
	send_event(s);
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

/* Servers report what came from their cache under four names. xAI and Gemini count reasoning in the total only. */
static void take_usage(struct chat_stream *s, const struct json *usage)
{
	const struct json *details = json_get(usage, "prompt_tokens_details");
	const struct json *cache[] = { json_get(details, "cached_tokens"), json_get(usage, "prompt_cache_hit_tokens"),
				       json_get(usage, "cached_tokens"), json_get(usage, "cache_read_input_tokens") };
	int64_t input = 0, output = 0, cached = 0, written = 0, total = 0;

	if (!json_i64(json_get(usage, "prompt_tokens"), &input) || input < 0)
		return;
	(void)json_i64(json_get(usage, "completion_tokens"), &output);
	for (size_t i = 0; i < COUNT_OF(cache) && !cached; i++)
		(void)json_i64(cache[i], &cached);
	if (!json_i64(json_get(details, "cache_write_tokens"), &written))
		(void)json_i64(json_get(usage, "cache_creation_input_tokens"), &written);
	if (json_i64(json_get(usage, "total_tokens"), &total) && total > input + output)
		output = total - input;
	cached = MAX(0, MIN(cached, input));
	written = MAX(0, MIN(written, input - cached));
	s->usage = (struct usage){ .input = input - cached - written,
				   .cache_read = cached,
				   .cache_write = written,
				   .output = MAX(output, 0) };
	s->has_usage = true;
}

static void take_chunk(struct chat_stream *s, const struct json *chunk)
{
	const struct json *choices = json_get(chunk, "choices");
	const struct json *choice = json_is(choices, JSON_ARRAY) ? json_first(choices) : NULL;
	const struct json *error = json_get(chunk, "error");

	if (error && !json_is(error, JSON_NULL)) {
		failure_from_error(&s->answer->failure, chunk);
		return;
	}
	if (!s->answer->started && json_is(choices, JSON_ARRAY)) {
		struct str id = json_str(json_get(chunk, "id"), &s->scratch);
		struct json_out w = json_out(&s->event);
		char made[72], digits[MESSAGE_ID_DIGITS + 1];

		/* There are servers that number their answers from 0 to 999. */
		id_random(digits, MESSAGE_ID_DIGITS, "0123456789abcdef");
		if (id.n < SHORTEST_MESSAGE_ID)
			snprintf(made, sizeof made, STR_FMT "-%s", STR_ARG(id.n ? id : STR("chatcmpl")), digits);
		buf_addstr(&s->event, "{\"type\":\"message_start\",\"message\":{\"id\":");
		json_add_quoted(&s->event, id.n < SHORTEST_MESSAGE_ID ? str_from(made) : id);
		buf_addstr(&s->event, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
		json_add_quoted(&s->event, json_str(json_get(chunk, "model"), &s->scratch));
		buf_addstr(&s->event, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
		usage_write(&w, &s->usage);
		buf_addstr(&s->event, "}}");
		send_event(s);
	}
	take_usage(s, json_get(chunk, "usage"));
	take_usage(s, json_get(choice, "usage"));                    /* Kimi */
	take_usage(s, json_get(json_get(chunk, "x_groq"), "usage")); /* Groq */
	if (!choice || s->stop_reason)
		return;
	const struct json *delta = json_get(choice, "delta");
	const struct json *finish_reason = json_get(choice, "finish_reason");
	if (!delta)
		delta = json_get(choice, "message"); /* an answer that came whole */
	const struct json *reasoning = json_get(delta, "reasoning_content");
	struct str refusal = json_str(json_get(delta, "refusal"), &s->scratch);
	add_piece(s, true, json_is(reasoning, JSON_STRING) ? reasoning : json_get(delta, "reasoning"));
	add_content(s, false, json_get(delta, "content"));
	const struct json *pieces = json_get(delta, "tool_calls");
	if (json_is(pieces, JSON_ARRAY))
		for (const struct json *p = json_first(pieces); p; p = json_next(pieces, p))
			add_call_piece(s, p);
	buf_add(&s->refusal, refusal.p, refusal.n);
	if (json_is(finish_reason, JSON_STRING) && finish_reason->len) /* xAI sends "" on the way */
		chat_stream_finish(s, json_str(finish_reason, &s->scratch));
}

static int on_sse(void *data, struct str name, struct str payload)
{
	struct chat_stream *s = data;

	(void)name;
	if (s->answer->failure.kind || s->over)
		return 0;
	if (!str_is(str_trim(payload), "[DONE]")) {
		struct err err = { 0 };
		const struct json *chunk;
		if (json_parse(&s->reader, payload.p, payload.n, &chunk, &err) < 0)
			protocol_error(s, err.text);
		else
			take_chunk(s, chunk);
		arena_reset(&s->scratch);
		return 0;
	}
	if (s->answer->started) {
		chat_stream_finish(s, STR("stop")); /* where the server forgot to say it */
		close_message(s);
	}
	return 0;
}

void chat_stream_init(struct chat_stream *s, struct answer *answer, const struct transcript *history,
		      uint64_t request_bytes)
{
	*s = (struct chat_stream){ .answer = answer, .history = history, .request_bytes = request_bytes };
	s->sse.event = on_sse;
	s->sse.data = s;
}

void chat_stream_feed(struct chat_stream *s, const char *p, size_t n)
{
	struct err err = { 0 };

	if (s->answer->failure.kind)
		return;
	if (sse_feed(&s->sse, p, n, &err) < 0)
		protocol_error(s, err.text);
}

bool chat_stream_whole(struct chat_stream *s, struct str json)
{
	const struct json *root;

	if (json_parse(&s->reader, json.p, json.n, &root, NULL) < 0)
		return false;
	take_chunk(s, root);
	arena_reset(&s->scratch);
	return s->answer->started || s->answer->failure.kind;
}

void chat_stream_end(struct chat_stream *s)
{
	if (s->stop_reason && !s->answer->failure.kind)
		close_message(s);
}

void chat_stream_release(struct chat_stream *s)
{
	for (uint32_t i = 0; i < s->calls.count; i++) {
		buf_release(&s->calls.list[i].id);
		buf_release(&s->calls.list[i].name);
		buf_release(&s->calls.list[i].arguments);
	}
	free(s->calls.list);
	sse_release(&s->sse);
	json_reader_release(&s->reader);
	arena_release(&s->scratch);
	buf_release(&s->event);
	buf_release(&s->refusal);
}
