/* SPDX-License-Identifier: MIT
 * wire_chat.c - the wire of chat completions, as api.openai.com, llama.cpp, Ollama, vLLM and many others speak it
 * (docs/internals/openai.md). */
#include "core/model/http_endpoint.h"
#include "core/wire/openai_request.h"
#include "core/wire/openai_stream.h"

struct chat_exchange {
	struct http_call http;
	struct chat_model heeded; /* by this request */
	struct chat_body body;
	struct chat_stream stream;
};

/* Of hosts that are known */
static unsigned chat_quirks_at(const char *base)
{
	static const struct {
		const char *host;
		unsigned quirks;
	} hosts[] = {
		{ "://api.openai.com", CHAT_COMPLETION_TOKENS | CHAT_SESSION_KEY },
		{ "://api.deepseek.com", CHAT_ECHO },
		{ "://api.moonshot.", CHAT_ECHO },
		{ "://api.mistral.ai", CHAT_SHORT_IDS | CHAT_ANSWER_BETWEEN },
	};
	unsigned quirks = 0;

	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		quirks |= strstr(base, hosts[i].host) ? hosts[i].quirks : 0;
	return quirks;
}

/* ---- what servers do not take ---------------------------------------------------------------------------------- */

/* The first row that matches the server's error and was not applied to the request yet. */
static const struct {
	const char *word, *and; /* and: NULL if the first says enough */
	unsigned quirk;
} refusals[] = {
	{ "reasoning_effort", "'none'", CHAT_EFFORT_NONE }, /* OpenAI from GPT-5.4 on, with tools */
	{ "reasoning_content", NULL, CHAT_ECHO },           /* DeepSeek, Kimi */
	{ "after role 'tool'", NULL, CHAT_ANSWER_BETWEEN }, /* Mistral */
	{ "with a length of 9", NULL, CHAT_SHORT_IDS },     /* Mistral */
	{ "max_tokens", "too large", CHAT_NO_LIMIT },
	{ "max_tokens", "greater than", CHAT_NO_LIMIT },
	{ "maximum context length", "in the completion", CHAT_NO_LIMIT },
	{ "max_completion_tokens", NULL, CHAT_COMPLETION_TOKENS },
	{ "stream_options", NULL, CHAT_NO_STREAM_OPTIONS },
	{ "parallel_tool_calls", NULL, CHAT_NO_PARALLEL_CALLS },
	{ "reasoning_effort", NULL, CHAT_NO_EFFORT },
	{ "image input is not supported", NULL, CHAT_NO_IMAGES }, /* llama.cpp */
	{ "not a multimodal model", NULL, CHAT_NO_IMAGES },       /* vLLM */
	{ "does not support image", NULL, CHAT_NO_IMAGES },
	{ "image_url is only supported by", NULL, CHAT_NO_IMAGES },
};

/* The most output tokens that a refusal names; 0: it names none. "the valid range of max_tokens is [1, 8192]", "must be less
 * than or equal to `8192`", "supports at most 16384 completion tokens" */
static int64_t limit_in(struct str said)
{
	static const char *const marks[] = { "[1, ", "less than or equal to", "at most", "maximum allowed",
					     "must be <=" };

	if (!str_has(said, STR("max_tokens")) && !str_has(said, STR("max_completion_tokens")))
		return 0;
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		const char *p = memmem(said.p, said.n, marks[i], strlen(marks[i]));
		const char *end = said.p + said.n;
		int64_t n = 0;
		if (!p)
			continue;
		for (p += strlen(marks[i]); p < end && char_in(*p, " `'\":<=\\"); p++)
			;
		for (; p < end && *p >= '0' && *p <= '9' && n < 100000000; p++)
			n = n * 10 + (*p - '0');
		if (n >= 256)
			return n;
	}
	return 0;
}

/* True: the server named an unsupported parameter, and the request can be sent without it. Quirks belong
 * to one model, not to the server. Concurrent requests may learn the same: each is sent again. */
static bool chat_learn(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);
	struct str said = buf_str(&c->call->error_body);
	int64_t sent = chat_head(c->call->body.head)->max_tokens;
	int64_t limit = limit_in(said);

	if (c->call->status != 400 && c->call->status != 422 && c->call->status != 500) /* the last: llama.cpp */
		return false;
	if (limit && limit < (x->heeded.limit ? MIN(x->heeded.limit, sent) : sent)) {
		c->quirks->limit = limit;
		return true;
	}
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		bool meant = str_has(said, str_from(refusals[i].word)) &&
			     (!refusals[i].and || str_has(said, str_from(refusals[i].and)));
		if (!meant || (x->heeded.quirks & refusals[i].quirk))
			continue;
		c->quirks->bits |= refusals[i].quirk;
		return true;
	}
	return false;
}

/* The server's message, with advice where it is known. A configuration error: no retry, regardless of the status. */
static void explain_failure(struct model_call *call)
{
	static const char *const words[] = {
		"does not support tools",  /* Ollama */
		"enable-auto-tool-choice", /* vLLM */
		"tools param requires",    /* llama.cpp */
		"tool use is not supported",
		"does not support function calling",
		"No endpoints found that support tool use",
	};
	const struct http_endpoint *s = CONTAINER_OF(call->endpoint, struct http_endpoint, endpoint);
	struct failure *f = &call->failure;
	struct str model = chat_head(call->body.head)->model;
	char said[sizeof f->text];
	bool no_tools = false;

	memcpy(said, f->text, sizeof said);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		no_tools = no_tools || str_has(buf_str(&call->error_body), str_from(words[i]));
	if (no_tools) {
		f->status = 400;
		failure_set(f, FAIL_STATUS,
			    "the model " STR_FMT " cannot call tools at this server. Take a model that can, start the "
			    "server with tools enabled (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice), or run "
			    "without tools (--tools \"\"). It said: %.120s",
			    STR_ARG(model), said);
	} else if (f->status == 401 && !s->has_key) {
		failure_set(f, FAIL_STATUS, "%.200s (no key was sent: set OPENAI_API_KEY)", said);
	}
}

/* ---- one request ----------------------------------------------------------------------------------------------- */

static void chat_begin(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	x->heeded = (struct chat_model){ c->quirks->bits, c->quirks->limit, c->call->session_id };
	chat_body_init(&x->body, &c->call->body, &x->heeded);
	chat_stream_init(&x->stream, &c->call->answer, c->call->body.transcript, x->body.size);
	x->stream.names = chat_head(c->call->body.head)->names;
	c->size = x->body.size;
}

static size_t chat_read(struct http_call *c, char *out, size_t room)
{
	return chat_body_read(&CONTAINER_OF(c, struct chat_exchange, http)->body, out, room);
}

static void chat_rewind(struct http_call *c)
{
	chat_body_rewind(&CONTAINER_OF(c, struct chat_exchange, http)->body);
}

/* Anything but an event stream is kept: it may be an answer that came whole. */
static bool chat_feed(struct http_call *c, const char *p, size_t n)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	if (!model_call_is_stream(c->call, p, n)) {
		buf_add(&c->call->error_body, p, n);
		return true;
	}
	chat_stream_feed(&x->stream, p, n);
	return !c->call->answer.failure.kind;
}

static void chat_finish(struct http_call *c, bool whole)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	if (whole && c->call->status == 200 && !c->call->is_stream)
		c->call->is_stream = chat_stream_whole(&x->stream, buf_str(&c->call->error_body));
	chat_stream_end(&x->stream);
}

static void chat_release(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	chat_body_release(&x->body);
	chat_stream_release(&x->stream);
}

static const struct wire_quirk chat_quirk_names[] = {
	{ "completionTokens", CHAT_COMPLETION_TOKENS },
	{ "noLimit", CHAT_NO_LIMIT },
	{ "noStreamOptions", CHAT_NO_STREAM_OPTIONS },
	{ "noParallelCalls", CHAT_NO_PARALLEL_CALLS },
	{ "noEffort", CHAT_NO_EFFORT },
	{ "noImages", CHAT_NO_IMAGES },
	{ "effortNone", CHAT_EFFORT_NONE },
	{ "answerBetween", CHAT_ANSWER_BETWEEN },
	{ "shortIds", CHAT_SHORT_IDS },
	{ "sessionKey", CHAT_SESSION_KEY },
	{ "echo", CHAT_ECHO },
	{ NULL, 0 },
};

const struct wire wire_chat = {
	.name = "chat",
	.path = "/chat/completions",
	.quirks = chat_quirk_names,
	.quirks_at = chat_quirks_at,
	.call_size = sizeof(struct chat_exchange),
	.begin = chat_begin,
	.read = chat_read,
	.rewind = chat_rewind,
	.feed = chat_feed,
	.learn = chat_learn,
	.finish = chat_finish,
	.explain = explain_failure,
	.release = chat_release,
};
