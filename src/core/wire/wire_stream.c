/* SPDX-License-Identifier: MIT
 * wire_stream.c - what answers of all APIs share: they become events of the Messages API. Text and reasoning pass at once,
 * calls when they are complete. */
#include "core/wire/wire.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"

enum { BYTES_PER_TOKEN = 4 }; /* of an estimate */
enum { SHORTEST_MESSAGE_ID = 20, MESSAGE_ID_DIGITS = 16, CALL_ID_DIGITS = 24, MOST_CALLS = 1024 };

void wire_error(struct wire_stream *s, const char *what)
{
	if (!s->answer->failure.kind)
		failure_set(&s->answer->failure, FAIL_GARBAGE, "the answer breaks the protocol: %s", what);
}

void wire_take_usage(struct wire_stream *s, const struct json *usage, struct usage counts)
{
	const double ticks_per_usd = 1e10; /* xAI */

	if (counts.input + counts.output == 0)
		return;
	counts.cache_read = MIN(counts.cache_read, counts.input);
	counts.cache_write = MIN(counts.cache_write, counts.input - counts.cache_read);
	counts.input -= counts.cache_read + counts.cache_write;
	s->usage = counts;
	s->usage.cost_usd = json_get(usage, "cost") ? json_double(json_get(usage, "cost"))
						    : json_double(json_get(usage, "cost_in_usd_ticks")) / ticks_per_usd;
	s->has_usage = true;
}

static void send_event(struct wire_stream *s)
{
	answer_event(s->answer, buf_str(&s->event));
	buf_clear(&s->event);
}

void wire_start(struct wire_stream *s, struct str id, const char *prefix, struct str model)
{
	struct json_out w = json_out(&s->event);
	char made[72], digits[MESSAGE_ID_DIGITS + 1];

	if (s->answer->started)
		return;
	id_random(digits, MESSAGE_ID_DIGITS, "0123456789abcdef");
	if (id.n < SHORTEST_MESSAGE_ID)
		snprintf(made, sizeof made, STR_FMT "-%s", STR_ARG(id.n ? id : str_from(prefix)), digits);
	buf_addstr(&s->event, "{\"type\":\"message_start\",\"message\":{\"id\":");
	json_add_quoted(&s->event, id.n < SHORTEST_MESSAGE_ID ? str_from(made) : id);
	buf_addstr(&s->event, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
	json_add_quoted(&s->event, model);
	buf_addstr(&s->event, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
	usage_write(&w, &s->usage);
	buf_addstr(&s->event, "}}");
	send_event(s);
}

void wire_stop_block(struct wire_stream *s)
{
	if (s->open == WIRE_NO_BLOCK)
		return;
	if (s->open == WIRE_THINKING && s->seal.n) {
		buf_addf(&s->event,
			 "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"signature_delta\","
			 "\"signature\":",
			 s->blocks - 1);
		json_add_quoted(&s->event, buf_str(&s->seal));
		buf_addstr(&s->event, "}}");
		send_event(s);
	}
	buf_clear(&s->seal);
	buf_addf(&s->event, "{\"type\":\"content_block_stop\",\"index\":%u}", s->blocks - 1);
	send_event(s);
	s->open = WIRE_NO_BLOCK;
}

static void start_block(struct wire_stream *s, enum wire_block kind)
{
	const char *type = kind == WIRE_THINKING ? "thinking" : "text";

	if (s->open == kind)
		return;
	wire_stop_block(s);
	buf_addf(&s->event,
		 "{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":{\"type\":\"%s\",\"%s\":\"\"%s}}",
		 s->blocks++, type, type, kind == WIRE_THINKING ? ",\"signature\":\"\"" : "");
	send_event(s);
	s->open = kind;
}

/* raw: a string of JSON, with its quotes. */
static void put_piece(struct wire_stream *s, bool thinking, struct str raw)
{
	const char *type = thinking ? "thinking" : "text";

	start_block(s, thinking ? WIRE_THINKING : WIRE_TEXT);
	s->answer_bytes += raw.n - 2;
	buf_addf(&s->event,
		 "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"%s_delta\",\"%s\":" STR_FMT "}}",
		 s->blocks - 1, type, type, STR_ARG(raw));
	send_event(s);
}

void wire_piece(struct wire_stream *s, bool thinking, const struct json *piece)
{
	if (json_is(piece, JSON_STRING) && piece->len)
		put_piece(s, thinking, json_raw(piece));
}

void wire_text(struct wire_stream *s, bool thinking, struct str text)
{
	AUTO_BUF struct buf quoted = { 0 };

	json_add_quoted(&quoted, text);
	if (text.n)
		put_piece(s, thinking, buf_str(&quoted));
}

void wire_seal(struct wire_stream *s, struct str rest)
{
	s->sealed = true;
	start_block(s, WIRE_THINKING);
	if (s->seal.n) { /* the thinking before has its own */
		wire_stop_block(s);
		start_block(s, WIRE_THINKING);
	}
	buf_addf(&s->seal, "%s:" STR_FMT ":" STR_FMT, s->form->name, STR_ARG(s->origin), STR_ARG(rest));
}

void wire_seal_before(struct wire_stream *s, struct str rest)
{
	AUTO_BUF struct buf block = { 0 };

	buf_addf(&block, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"%s:" STR_FMT ":" STR_FMT "\"}",
		 s->form->name, STR_ARG(s->origin), STR_ARG(rest));
	s->answer->sink->on_block(s->answer->data, segment_new(SEGMENT_UNSENT, buf_str(&block)));
}

struct wire_call *wire_call_add(struct wire_stream *s, int64_t index)
{
	struct wire_calls *c = &s->calls;

	if (c->count == MOST_CALLS) {
		wire_error(s, "too many calls");
		return NULL;
	}
	struct wire_call *call = xpush(c->list, c->count, c->cap);
	*call = (struct wire_call){ .index = index };
	return call;
}

/* An id must match the pattern of the Messages API, because the session may continue there, and be unique. A text that
 * quotes the id also counts as a duplicate, which only costs a new id. */
static bool is_usable_id(const struct wire_stream *s, size_t call)
{
	AUTO_BUF struct buf quoted = { 0 };
	struct str id = buf_str(&s->calls.list[call].id);
	const struct transcript *t = s->history;

	if (!id.n || id.n > WIRE_LONGEST_ID)
		return false;
	for (size_t i = 0; i < id.n; i++)
		if (!char_in(id.p[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
			return false;
	for (size_t i = 0; i < call; i++)
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

/* What was sent as the name of a tool has letters, digits, _ and - only. Around it stand what a template leaves there: blanks, "functions.",
 * "<|channel|>commentary" (gpt-oss). */
static struct str called_name(struct str name)
{
	const struct str space = STR("functions.");
	struct str rest = str_trim(name), own = str_cut(&rest, '<');

	own = str_trim(str_starts(own, space) ? str_tail(own, space.n) : own);
	return own.n ? own : str_trim(name);
}

void wire_call_send(struct wire_stream *s, struct wire_call *call)
{
	struct str name = called_name(buf_str(&call->name));

	if (!is_usable_id(s, (size_t)(call - s->calls.list))) {
		char digits[CALL_ID_DIGITS + 1];
		id_random(digits, CALL_ID_DIGITS, "0123456789abcdefghijklmnopqrstuvwxyz");
		buf_clear(&call->id);
		buf_addf(&call->id, "call_%s", digits);
	}
	for (const struct wire_name *n = s->names; n; n = n->next)
		if (str_eq(n->sent, name))
			name = n->own;
	if (call->seal.n)
		wire_seal(s, buf_str(&call->seal));
	wire_stop_block(s);
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
	s->open = WIRE_CALL;
	wire_stop_block(s);
	s->calls.sent = (size_t)(call - s->calls.list) + 1;
}

bool wire_end_by_word(struct wire_stream *s, struct str reason)
{
	static const char refusals[] = "content_filter|content_filtered|sensitive|refusal|guardrail_intervened|SAFETY|"
				       "RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|RAI|IMAGE_SAFETY|"
				       "IMAGE_PROHIBITED_CONTENT|IMAGE_RECITATION";
	static const char torn[] = "insufficient_system_resource|error|server_error|network_error|abort|cancelled|"
				   "failed|timeout|MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|MALFORMED_RESPONSE|"
				   "TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE";
	struct str rest = reason, kind = str_cut(&rest, ':'), word = str_trim(rest.p ? rest : kind);

	if (str_is_one_of_nocase(word, refusals) || str_is_one_of_nocase(kind, refusals)) {
		if (!s->refusal.n && !str_is(word, "content_filter"))
			buf_addf(&s->refusal, "the server's content filter (" STR_FMT ")", STR_ARG(word));
		wire_finish(s, "refusal");
		return true;
	}
	if (!str_is_one_of_nocase(word, torn))
		return false;
	failure_set(&s->answer->failure, FAIL_GARBAGE, "the server gave up in the middle of its answer (" STR_FMT ")",
		    STR_ARG(word));
	return true;
}

void wire_finish(struct wire_stream *s, const char *stop_reason)
{
	size_t count = s->calls.count;

	if (s->stop_reason)
		return;
	/* A call that the limit cut before its arguments must not run without any. */
	if (count && !strcmp(stop_reason, "max_tokens") && !s->calls.list[count - 1].arguments.n)
		count--;
	wire_stop_block(s);
	for (size_t i = s->calls.sent; i < count; i++)
		wire_call_send(s, &s->calls.list[i]);
	s->stop_reason = stop_reason;
}

void wire_close(struct wire_stream *s)
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

static void take_event(struct wire_stream *s, const struct json *event)
{
	if (s->form == &form_chat && chat_take_failed_call(s, event))
		return;
	if (!s->answer->failure.kind && !failure_in_event(&s->answer->failure, event))
		s->form->take(s, event);
}

static int on_sse(void *data, struct str name, struct str payload)
{
	struct wire_stream *s = data;
	struct err err = { 0 };
	const struct json *event;

	if (s->answer->failure.kind || s->over || (s->form->skips && s->form->skips(name)))
		return 0;
	if (!str_trim(payload).n)
		return 0; /* a gateway keeps the connection alive */
	if (!str_is(str_trim(payload), "[DONE]")) {
		bool parsed = json_parse(&s->reader, payload.p, payload.n, &event, &err) == 0;
		if (parsed && str_is(name, "error") && json_is(event, JSON_OBJECT) && s->form == &form_chat)
			failure_from_error(&s->answer->failure, event);
		else if (parsed)
			take_event(s, event);
		else if (!s->ending)
			wire_error(s, arena_printf(&s->scratch, "%s: %.*s", err.text, (int)MIN(payload.n, (size_t)100),
						   payload.p));
		arena_reset(&s->scratch);
	} else if (s->answer->started && s->form == &form_chat) {
		chat_stop(s, STR("stop")); /* where the server forgot to say it */
		wire_close(s);
	}
	return 0;
}

void wire_stream_init(struct wire_stream *s, const struct wire_form *form, struct answer *answer,
		      const struct transcript *history, uint64_t request_bytes)
{
	*s = (struct wire_stream){
		.form = form, .answer = answer, .history = history, .request_bytes = request_bytes, .item = -2
	};
	s->origin = STR("0000000000000000");
	s->sse.event = on_sse;
	s->sse.data = s;
	s->sse.bare = true;
}

void wire_stream_feed(struct wire_stream *s, const char *p, size_t n)
{
	struct err err = { 0 };

	if (s->answer->failure.kind)
		return;
	if (sse_feed(&s->sse, p, n, &err) < 0)
		wire_error(s, err.text);
}

bool wire_stream_whole(struct wire_stream *s, struct str json)
{
	const struct json *root;

	if (json_parse(&s->reader, json.p, json.n, &root, NULL) < 0)
		return false;
	/* Gemini's answer is a list of chunks where a gateway dropped alt=sse. */
	if (!json_is(root, JSON_ARRAY))
		take_event(s, root);
	for (const struct json *chunk = json_items(root); chunk; chunk = json_next(root, chunk))
		take_event(s, chunk);
	arena_reset(&s->scratch);
	return s->answer->started || s->answer->failure.kind;
}

void wire_stream_end(struct wire_stream *s)
{
	/* The last event may lack its blank line: it counts if it is whole. */
	s->ending = true;
	wire_stream_feed(s, "\n\n", 2);
	if (s->stop_reason && !s->answer->failure.kind)
		wire_close(s);
}

void wire_stream_release(struct wire_stream *s)
{
	for (size_t i = 0; i < s->calls.count; i++) {
		buf_release(&s->calls.list[i].id);
		buf_release(&s->calls.list[i].name);
		buf_release(&s->calls.list[i].arguments);
		buf_release(&s->calls.list[i].seal);
	}
	free(s->calls.list);
	for (size_t i = 0; i < s->waiting_count; i++)
		buf_release(&s->waiting[i].events);
	free(s->waiting);
	buf_release(&s->arguments.events);
	buf_release(&s->begun.events);
	sse_release(&s->sse);
	json_reader_release(&s->reader);
	arena_release(&s->scratch);
	buf_release(&s->event);
	buf_release(&s->seal);
	buf_release(&s->refusal);
	buf_release(&s->held);
	buf_release(&s->details);
	buf_release(&s->signed_blocks);
}
