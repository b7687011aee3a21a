/* SPDX-License-Identifier: MIT
 * responses_stream.c - events of the Responses API in, events of the Messages API out. Items are numbered; a call passes when
 * its item is done, with the arguments that the item has. The stream ends with completed, incomplete or failed: without one
 * of them it is cut. */
#include "core/wire/wire.h"

enum { MOST_WAITING = 256 };

static void put_texts(struct wire_stream *s, bool thinking, const struct json *list)
{
	for (const struct json *p = json_first(list); p; p = json_next(list, p)) {
		struct str refusal = json_str(json_get(p, "refusal"), &s->scratch);
		wire_piece(s, thinking, json_get(p, "text"));
		buf_add(&s->refusal, refusal.p, refusal.n);
	}
}

/* Of several messages that are open at once one passes, and the events of other items wait until it is done. */
static bool item_waits(struct wire_stream *s, int64_t index, const struct json *event)
{
	size_t i = 0;

	if (index < 0 || s->item < 0 || index == s->item)
		return false;
	while (i < s->waiting_count && s->waiting[i].index != index)
		i++;
	if (i == MOST_WAITING) {
		wire_error(s, "too many items at once");
		return true;
	}
	if (i == s->waiting_count)
		*xpush(s->waiting, s->waiting_count, s->waiting_cap) = (struct wire_item){ .index = index };
	buf_append(&s->waiting[i].events, json_raw(event));
	buf_addch(&s->waiting[i].events, '\0');
	return true;
}

static void pass_waiting_items(struct wire_stream *s)
{
	while (s->item < 0 && s->waiting_count) {
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *event;
		size_t first = 0;

		for (size_t i = 1; i < s->waiting_count; i++)
			if (s->waiting[i].index < s->waiting[first].index)
				first = i;
		AUTO_BUF struct buf events = s->waiting[first].events;
		s->waiting[first] = s->waiting[--s->waiting_count];
		for (struct str rest = buf_str(&events), one; rest.n;) {
			one = str_cut(&rest, '\0');
			if (json_parse(&reader, one.p, one.n, &event, NULL) == 0)
				responses_take(s, event);
		}
	}
}

/* The phase of a message stands in the seal before it: that of its reasoning, else one of its own. It may come with the end of
 * the message only. */
static void take_phase(struct wire_stream *s, const struct json *item)
{
	struct str phase = json_str(json_get(item, "phase"), &s->scratch);

	for (size_t i = 0; i < phase.n; i++)
		if (!char_in(phase.p[i], "abcdefghijklmnopqrstuvwxyz_"))
			return;
	struct str seal = s->open == WIRE_THINKING ? buf_str(&s->seal) : STR("");
	if (!phase.n || s->has_phase)
		return;
	s->has_phase = true;
	(void)str_cut(&seal, ':');
	(void)str_cut(&seal, ':');
	const char *rest =
		arena_printf(&s->scratch, STR_FMT STR_FMT, STR_ARG(phase), STR_ARG(seal.n ? seal : STR(":")));
	if (s->open == WIRE_TEXT) {
		wire_seal_before(s, str_from(rest));
		return;
	}
	bool sealed = s->sealed;
	buf_clear(&s->seal);
	wire_seal(s, str_from(rest));
	s->sealed = sealed; /* the reasoning itself may still come */
}

static void end_item(struct wire_stream *s, const struct json *item, int64_t index);

/* The router of SGLang sends the beginning of a call and its arguments, but not its end. */
static void end_begun_call(struct wire_stream *s)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf begun = s->begun.events;
	const struct json *item;

	s->begun.events = (struct buf){ 0 };
	if (begun.n && s->arguments.events.n && s->arguments.index == s->begun.index &&
	    json_parse(&reader, begun.p, begun.n, &item, NULL) == 0)
		end_item(s, item, s->begun.index);
}

static void begin_item(struct wire_stream *s, const struct json *item, int64_t index)
{
	const struct json *type = json_get(item, "type");
	bool message = json_str_is(type, "message"), reasoning = json_str_is(type, "reasoning");

	end_begun_call(s);
	if (json_str_is(type, "function_call")) {
		buf_append(&s->begun.events, json_raw(item));
		s->begun.index = index;
	}

	if ((message && s->open == WIRE_TEXT) || (reasoning && s->open == WIRE_THINKING && s->seal.n))
		wire_stop_block(s);
	s->has_phase = s->has_phase && !message;
	take_phase(s, item);
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
		if (s->item != index || s->open == WIRE_TEXT)
			take_phase(s, item);
		if (s->item != index)
			put_texts(s, false, json_get(item, "content"));
		if (s->open == WIRE_TEXT)
			wire_stop_block(s);
		s->item = -2;
		s->has_phase = false;
	} else if (json_str_is(type, "function_call") && !json_str_is(json_get(item, "status"), "incomplete")) {
		buf_clear(&s->begun.events);
		for (size_t i = 0; i < s->calls.count; i++)
			if (index >= 0 && s->calls.list[i].index == index)
				return;
		struct wire_call *call = wire_call_add(s, index);
		struct str id = json_str(json_get(item, "call_id"), &s->scratch);
		struct str name = json_str(json_get(item, "name"), &s->scratch);
		struct str arguments = wire_arguments(s, json_get(item, "arguments"));
		if (!arguments.n && s->arguments.index == index)
			arguments = buf_str(&s->arguments.events);
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

	if (!usage_count(json_get(usage, "input_tokens"), &input))
		return;
	(void)usage_count(json_get(usage, "output_tokens"), &output);
	(void)usage_count(json_get(details, "cached_tokens"), &cached);
	(void)usage_count(json_get(details, "cache_write_tokens"), &written);
	wire_take_usage(
		s, usage,
		(struct usage){ .input = input, .cache_read = cached, .cache_write = written, .output = output });
}

static void end_response(struct wire_stream *s, const struct json *response)
{
	const struct json *reason = json_get(json_get(response, "incomplete_details"), "reason");
	const struct json *output = json_get(response, "output");
	bool cut = json_str_is(json_get(response, "status"), "incomplete");
	int64_t index = 0;

	while (s->waiting_count) {
		s->item = -2;
		pass_waiting_items(s);
	}
	end_begun_call(s);
	size_t passed = s->calls.count, calls = 0;
	if (!s->blocks && !s->refusal.n) /* it came whole, or its server streams no items */
		for (const struct json *item = json_first(output); item; item = json_next(output, item)) {
			begin_item(s, item, index);
			end_item(s, item, index++);
		}
	else /* calls that were not streamed */
		for (const struct json *item = json_first(output); item; item = json_next(output, item))
			if (json_str_is(json_get(item, "type"), "function_call") && calls++ >= passed)
				end_item(s, item, -1);
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
	} else if (!s->answer->started && index >= 0) { /* not so a keepalive or ping */
		wire_error(s, "it does not begin with response.created");
	} else if (item_waits(s, index, event)) {
		return;
	} else if (json_str_is(type, "response.output_item.added")) {
		begin_item(s, item, index);
	} else if (json_str_is(type, "response.output_text.delta")) {
		if (s->open == WIRE_TEXT && s->item != index)
			wire_stop_block(s);
		if (wire_raw(delta).n)
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
	} else if (json_str_is(type, "response.function_call_arguments.done")) {
		buf_clear(&s->arguments.events);
		buf_append(&s->arguments.events, wire_arguments(s, json_get(event, "arguments")));
		s->arguments.index = index;
	} else if (json_str_is(type, "response.output_item.done")) {
		end_item(s, item, index);
		pass_waiting_items(s);
	} else if (json_str_is(type, "response.completed") || json_str_is(type, "response.incomplete")) {
		end_response(s, response);
	}
}
