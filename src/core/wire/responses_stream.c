/* SPDX-License-Identifier: MIT
 * responses_stream.c - events of the Responses API in, events of the Messages API out. Items are numbered; a call passes when
 * its item is done, with the arguments that the item has. The stream ends with completed, incomplete or failed: without one
 * of them it is cut. */
#include "core/wire/wire.h"

static void put_texts(struct wire_stream *s, bool thinking, const struct json *list)
{
	for (const struct json *p = json_first(list); p; p = json_next(list, p)) {
		struct str refusal = json_str(json_get(p, "refusal"), &s->scratch);
		wire_piece(s, thinking, json_get(p, "text"));
		buf_add(&s->refusal, refusal.p, refusal.n);
	}
}

/* The phase of a message stands in the seal before it, if there is one. */
static void begin_item(struct wire_stream *s, const struct json *item)
{
	struct str phase = json_str(json_get(item, "phase"), &s->scratch);
	bool reasoning = json_str_is(json_get(item, "type"), "reasoning");

	if (reasoning && s->open == WIRE_THINKING && s->seal.n)
		wire_stop_block(s);
	for (size_t i = 0; i < phase.n; i++)
		if (!char_in(phase.p[i], "abcdefghijklmnopqrstuvwxyz_"))
			return;
	struct str seal = buf_str(&s->seal);
	if (!phase.n || s->open != WIRE_THINKING || !seal.n)
		return;
	(void)str_cut(&seal, ':');
	(void)str_cut(&seal, ':');
	const char *rest = arena_printf(&s->scratch, STR_FMT STR_FMT, STR_ARG(phase), STR_ARG(seal));
	buf_clear(&s->seal);
	wire_seal(s, str_from(rest));
}

static void end_item(struct wire_stream *s, const struct json *item, int64_t index)
{
	const struct json *type = json_get(item, "type");

	if (json_str_is(type, "reasoning")) {
		if (s->open != WIRE_THINKING || s->seal.n) { /* nothing of it was streamed */
			put_texts(s, true, json_get(item, "summary"));
			put_texts(s, true, json_get(item, "content"));
		}
		struct str raw = json_raw(item);
		const struct json *content = json_get(item, "content");
		/* What the server did not encrypt goes back only if its text is there. */
		if (wire_raw(json_get(item, "encrypted_content")).n || (json_is(content, JSON_ARRAY) && content->count))
			wire_seal(s, str_from(arena_printf(&s->scratch, ":" STR_FMT, STR_ARG(raw))));
	} else if (json_str_is(type, "message")) {
		if (s->item != index)
			put_texts(s, false, json_get(item, "content"));
		if (s->open == WIRE_TEXT)
			wire_stop_block(s);
	} else if (json_str_is(type, "function_call") && !json_str_is(json_get(item, "status"), "incomplete")) {
		struct wire_call *call = wire_call_add(s, index);
		struct str id = json_str(json_get(item, "call_id"), &s->scratch);
		struct str name = json_str(json_get(item, "name"), &s->scratch);
		struct str arguments = json_str(json_get(item, "arguments"), &s->scratch);
		if (!call)
			return;
		buf_add(&call->id, id.p, id.n);
		buf_add(&call->name, name.p, name.n);
		buf_add(&call->arguments, arguments.p, arguments.n);
		s->answer_bytes += arguments.n;
		wire_call_send(s, call);
	}
}

static void take_usage(struct wire_stream *s, const struct json *usage)
{
	const struct json *details = json_get(usage, "input_tokens_details");
	int64_t input = 0, output = 0, cached = 0, written = 0;

	if (!json_i64(json_get(usage, "input_tokens"), &input) || input < 0)
		return;
	(void)json_i64(json_get(usage, "output_tokens"), &output);
	(void)json_i64(json_get(details, "cached_tokens"), &cached);
	(void)json_i64(json_get(details, "cache_write_tokens"), &written);
	cached = MAX(0, MIN(cached, input));
	written = MAX(0, MIN(written, input - cached));
	s->usage = (struct usage){ .input = input - cached - written,
				   .cache_read = cached,
				   .cache_write = written,
				   .output = MAX(output, 0) };
	s->has_usage = true;
}

static void end_response(struct wire_stream *s, const struct json *response)
{
	const struct json *reason = json_get(json_get(response, "incomplete_details"), "reason");
	const struct json *output = json_get(response, "output");
	bool cut = json_str_is(json_get(response, "status"), "incomplete");
	int64_t index = 0;

	if (!s->blocks && !s->refusal.n) /* it came whole, or its server streams no items */
		for (const struct json *item = json_first(output); item; item = json_next(output, item)) {
			begin_item(s, item);
			end_item(s, item, index++);
		}
	if (s->open == WIRE_THINKING) /* reasoning that led to nothing is refused */
		buf_clear(&s->seal);
	wire_stop_block(s);
	/* Azure sends what is encrypted only here. It belongs to the last block then. */
	for (const struct json *item = json_first(output); item; item = json_next(output, item)) {
		struct str sealed = wire_raw(json_get(item, "encrypted_content")), raw = json_raw(item);
		if (json_str_is(json_get(item, "type"), "reasoning") && sealed.n && !s->sealed && s->blocks)
			wire_seal(s, str_from(arena_printf(&s->scratch, ":" STR_FMT, STR_ARG(raw))));
	}
	take_usage(s, json_get(response, "usage"));
	if (s->refusal.n || (cut && json_str_is(reason, "content_filter")))
		wire_finish(s, "refusal");
	else if (cut)
		wire_finish(s, "max_tokens");
	else
		wire_finish(s, s->calls.count ? "tool_use" : "end_turn");
	wire_close(s);
}

/* Calls and texts come whole with their items. */
bool responses_skips(struct str name)
{
	static const char *const ignored[] = { "response.in_progress",
					       "response.content_part.added",
					       "response.content_part.done",
					       "response.output_text.done",
					       "response.function_call_arguments.delta",
					       "response.function_call_arguments.done",
					       "response.reasoning_summary_text.done",
					       "response.reasoning_summary_part.done" };

	for (size_t i = 0; i < COUNT_OF(ignored); i++)
		if (str_is(name, ignored[i]))
			return true;
	return false;
}

void responses_take(struct wire_stream *s, const struct json *event)
{
	static const char blank_line[] = "\"\\n\\n\"";
	static const struct json blank = { .text = blank_line + 1, .len = 4, .span = 1, .type = JSON_STRING };
	const struct json *type = json_get(event, "type"), *response = json_get(event, "response");
	const struct json *item = json_get(event, "item"), *delta = json_get(event, "delta");
	int64_t index = -1, part = 0;

	(void)json_i64(json_get(event, "output_index"), &index);
	if (!type && json_str_is(json_get(event, "object"), "response")) /* an answer that came whole */
		response = event;
	if (response && !json_str_is(json_get(response, "status"), "failed"))
		wire_start(s, json_str(json_get(response, "id"), &s->scratch), "resp",
			   json_str(json_get(response, "model"), &s->scratch));
	if (response == event) {
		end_response(s, response);
	} else if (json_str_is(type, "response.failed")) {
		failure_from_error(&s->answer->failure, response);
	} else if (!s->answer->started && type) {
		wire_error(s, "it does not begin with response.created");
	} else if (json_str_is(type, "response.output_item.added")) {
		begin_item(s, item);
	} else if (json_str_is(type, "response.output_text.delta")) {
		if (s->open == WIRE_TEXT && s->item != index)
			wire_stop_block(s);
		s->item = index;
		wire_piece(s, false, delta);
	} else if (json_str_is(type, "response.refusal.delta")) {
		struct str words = json_str(delta, &s->scratch);
		buf_add(&s->refusal, words.p, words.n);
		s->item = index;
	} else if (json_str_is(type, "response.reasoning_summary_text.delta") ||
		   json_str_is(type, "response.reasoning_text.delta")) {
		wire_piece(s, true, delta);
	} else if (json_str_is(type, "response.reasoning_summary_part.added")) {
		if (json_i64(json_get(event, "summary_index"), &part) && part > 0 && s->open == WIRE_THINKING)
			wire_piece(s, true, &blank);
	} else if (json_str_is(type, "response.output_item.done")) {
		end_item(s, item, index);
	} else if (json_str_is(type, "response.completed") || json_str_is(type, "response.incomplete")) {
		end_response(s, response);
	}
}
