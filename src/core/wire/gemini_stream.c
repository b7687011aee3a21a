/* SPDX-License-Identifier: MIT
 * gemini_stream.c - chunks of streamGenerateContent in, events of the Messages API out. Calls come whole. A chunk with a finish
 * reason is the end; without one the answer is cut. */
#include "core/wire/wire.h"

static void take_part(struct wire_stream *s, const struct json *part)
{
	const struct json *function = json_get(part, "functionCall"), *args = json_get(function, "args");
	struct str signature = json_str(json_get(part, "thoughtSignature"), &s->scratch);
	bool thought = json_bool(json_get(part, "thought"));

	if (!function) {
		/* The signature may come with an empty text behind the one that it signs. */
		wire_piece(s, thought, json_get(part, "text"));
		if (signature.n)
			wire_seal(s, signature);
		return;
	}
	struct wire_call *call = wire_call_add(s, -1);
	struct str id = json_str(json_get(function, "id"), &s->scratch);
	struct str name = json_str(json_get(function, "name"), &s->scratch);
	struct str input = wire_arguments(s, args);
	if (!call)
		return;
	buf_add(&call->id, id.p, id.n);
	buf_add(&call->name, name.p, name.n);
	buf_add(&call->arguments, input.p, input.n);
	buf_add(&call->seal, signature.p, signature.n);
	s->answer_bytes += input.n;
	wire_call_send(s, call);
}

static void take_usage(struct wire_stream *s, const struct json *usage)
{
	int64_t prompt = 0, cached = 0, candidates = 0, thoughts = 0, tools = 0;

	if (!usage_count(json_get(usage, "promptTokenCount"), &prompt))
		return;
	(void)usage_count(json_get(usage, "cachedContentTokenCount"), &cached);
	(void)usage_count(json_get(usage, "candidatesTokenCount"), &candidates);
	(void)usage_count(json_get(usage, "thoughtsTokenCount"), &thoughts);
	(void)usage_count(json_get(usage, "toolUsePromptTokenCount"), &tools);
	wire_take_usage(s, usage,
			(struct usage){ .input = prompt + tools,
					.cache_read = MIN(cached, prompt),
					.output = candidates + thoughts });
}

void gemini_take(struct wire_stream *s, const struct json *chunk)
{
	const struct json *candidate = json_first(json_get(chunk, "candidates"));
	const struct json *blocked = json_get(json_get(chunk, "promptFeedback"), "blockReason");
	const struct json *parts = json_get(json_get(candidate, "content"), "parts");

	if (!candidate && !blocked && !json_get(chunk, "usageMetadata"))
		return;
	wire_start(s, json_str(json_get(chunk, "responseId"), &s->scratch), "gemini",
		   json_str(json_get(chunk, "modelVersion"), &s->scratch));
	take_usage(s, json_get(chunk, "usageMetadata"));
	if (s->stop_reason)
		return;
	for (const struct json *p = json_first(parts); p; p = json_next(parts, p))
		take_part(s, p);
	if (wire_raw(blocked).n) {
		struct str message =
			json_str(json_get(json_get(chunk, "promptFeedback"), "blockReasonMessage"), &s->scratch);
		buf_addf(&s->refusal, "the prompt was blocked (" STR_FMT ")%s" STR_FMT, STR_ARG(wire_raw(blocked)),
			 message.n ? ": " : "", STR_ARG(message));
		wire_finish(s, "refusal");
		return;
	}
	struct str reason = json_str(json_get(candidate, "finishReason"), &s->scratch);
	if (str_is(reason, "STOP"))
		wire_finish(s, s->calls.count ? "tool_use" : "end_turn");
	else if (str_is(reason, "MAX_TOKENS"))
		wire_finish(s, "max_tokens");
	else if (reason.n && !wire_end_by_word(s, reason) && !str_is(reason, "FINISH_REASON_UNSPECIFIED"))
		failure_set(&s->answer->failure, FAIL_GARBAGE,
			    "the server gave up in the middle of its answer (" STR_FMT ")", STR_ARG(reason));
}
