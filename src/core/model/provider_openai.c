/* SPDX-License-Identifier: MIT
 * provider_openai.c - chat completions over HTTP, as api.openai.com, llama.cpp, Ollama, vLLM and many others serve them
 * (docs/internals/openai.md). */
#include "core/model/http_endpoint.h"
#include "core/wire/openai_request.h"
#include "core/wire/openai_stream.h"

enum { MOST_LEARNED = 6 }; /* of one request */

#define OPENAI_HOME "https://api.openai.com"

struct openai {
	struct endpoint endpoint;
	struct http_endpoint http;
	bool has_key;
	unsigned quirks;    /* enum chat_quirk that all its models have */
	struct map learned; /* model name -> struct chat_model, in the arena of http */
};

/* One request under way */
struct exchange {
	struct openai *server;
	struct model_call *call;
	struct http_req *transfer;
	struct chat_model *model; /* what is known by now */
	struct chat_model heeded; /* what this request heeds */
	unsigned retries;
	struct chat_body body;
	struct chat_stream stream;
};

/* ---- the endpoint ---------------------------------------------------------------------------------------------- */

static int openai_open(const struct provider *provider, const struct endpoint_options *o,
		       struct endpoint **ret_endpoint, struct err *err)
{
	/* Only api.openai.com is known to require a key; other servers report it. */
	if (!o->api_key && !o->base_url)
		return err_set(
			err, ERR_USAGE,
			"no API key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none (such as "
			"http://127.0.0.1:11434/v1)");
	if (http_endpoint_check(provider, o, err) < 0)
		return -(int)err->kind;

	struct openai *s = xcalloc(1, sizeof *s);
	const char *base = o->base_url ? o->base_url : OPENAI_HOME "/v1";
	s->endpoint.provider = provider;
	if (http_endpoint_open(&s->http, o, base, "/chat/completions", err) < 0) {
		free(s);
		return -(int)err->kind;
	}
	s->has_key = o->api_key != NULL;
	if (o->api_key)
		http_endpoint_header(&s->http, "authorization", arena_printf(&s->http.arena, "Bearer %s", o->api_key));
	if (str_starts(str_from(base), STR(OPENAI_HOME)))
		s->quirks |= CHAT_COMPLETION_TOKENS | CHAT_SESSION_KEY;
	if (strstr(base, "://api.deepseek.com") || strstr(base, "://api.moonshot."))
		s->quirks |= CHAT_ECHO;
	if (strstr(base, "://api.mistral.ai"))
		s->quirks |= CHAT_SHORT_IDS | CHAT_ANSWER_BETWEEN;
	*ret_endpoint = &s->endpoint;
	return 0;
}

static void openai_close(struct endpoint *e)
{
	struct openai *s = CONTAINER_OF(e, struct openai, endpoint);

	map_release(&s->learned);
	http_endpoint_close(&s->http);
	free(s);
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
static bool learn_refusal(struct exchange *x)
{
	struct str said = buf_str(&x->call->error_body);
	int64_t sent = chat_head(x->call->body.head)->max_tokens;
	int64_t limit = limit_in(said);

	if (x->call->status != 400 && x->call->status != 422 && x->call->status != 500) /* the last: llama.cpp */
		return false;
	if (x->retries++ == MOST_LEARNED)
		return false;
	if (limit && limit < (x->heeded.limit ? MIN(x->heeded.limit, sent) : sent)) {
		x->model->limit = limit;
		return true;
	}
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		bool meant = str_has(said, str_from(refusals[i].word)) &&
			     (!refusals[i].and || str_has(said, str_from(refusals[i].and)));
		if (!meant || (x->heeded.quirks & refusals[i].quirk))
			continue;
		x->model->quirks |= refusals[i].quirk;
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
	const struct openai *s = CONTAINER_OF(call->endpoint, struct openai, endpoint);
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

static size_t read_body(void *data, char *out, size_t room)
{
	return chat_body_read(&((struct exchange *)data)->body, out, room);
}

static void rewind_body(void *data)
{
	chat_body_rewind(&((struct exchange *)data)->body);
}

static void exchange_free(struct exchange *x)
{
	chat_body_release(&x->body);
	chat_stream_release(&x->stream);
	free(x);
}

/* Anything but an event stream is kept: an explanation, or an answer that came whole. */
static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct model_call *call = http_data(r);
	struct exchange *x = call->transfer;

	if (call->status == 200 && model_call_is_stream(call, p, n)) {
		chat_stream_feed(&x->stream, p, n);
		return !call->answer.failure.kind;
	}
	if (call->status == 200 || call->error_body.n < LARGEST_ERROR_BODY)
		buf_add(&call->error_body, p, n);
	return true;
}

static int exchange_post(struct exchange *x, struct err *err);

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct model_call *call = http_data(r);
	struct exchange *x = call->transfer;

	if (error == HTTP_OK && !call->cancelled && learn_refusal(x)) {
		struct err err = { 0 };
		chat_body_release(&x->body);
		buf_clear(&call->error_body);
		call->status = 0;
		if (exchange_post(x, &err) == 0)
			return;
	}
	if (error == HTTP_OK && call->status == 200 && !call->is_stream)
		call->is_stream = chat_stream_whole(&x->stream, buf_str(&call->error_body));
	chat_stream_end(&x->stream);
	model_call_finish(call, http_endpoint_failure(error), text);
	exchange_free(x);
}

static int exchange_post(struct exchange *x, struct err *err)
{
	static const struct http_handlers handlers = { http_endpoint_on_head, http_endpoint_on_header, on_data,
						       on_done };

	x->heeded = *x->model;
	x->heeded.session = x->call->session_id;
	chat_body_init(&x->body, &x->call->body, &x->heeded);
	struct http_body body = { x->body.size, read_body, rewind_body };
	return http_endpoint_post(&x->server->http, x->call, NULL, &body, NULL, &handlers, &x->transfer, err);
}

static int openai_start(struct endpoint *e, struct model_call *call, struct err *err)
{
	struct exchange *x = xcalloc(1, sizeof *x);
	const struct chat_head *head = chat_head(call->body.head);

	x->server = CONTAINER_OF(e, struct openai, endpoint);
	x->call = call;
	x->model = map_get(&x->server->learned, head->model);
	if (!x->model) {
		x->model = arena_calloc(&x->server->http.arena, sizeof *x->model);
		x->model->quirks = x->server->quirks;
		(void)map_set(&x->server->learned, head->model, x->model);
	}
	call->explain = explain_failure;
	call->transfer = x;
	if (exchange_post(x, err) < 0) {
		call->transfer = NULL;
		exchange_free(x);
		return -(int)err->kind;
	}
	chat_stream_init(&x->stream, &call->answer, call->body.transcript, x->body.size);
	x->stream.names = head->names;
	return 0;
}

static void openai_cancel(struct model_call *call)
{
	struct exchange *x = call->transfer;

	call->cancelled = true;
	http_cancel(x->transfer);
}

static void openai_pause(struct model_call *call, bool on)
{
	struct exchange *x = call->transfer;

	http_pause(x->transfer, on);
}

const struct provider provider_openai = {
	.name = "openai",
	.summary = "chat completions at OPENAI_BASE_URL",
	.env = { .base_url = "OPENAI_BASE_URL", .api_key = "OPENAI_API_KEY", .model = "OPENAI_MODEL" },
	.open = openai_open,
	.close = openai_close,
	.start = openai_start,
	.cancel = openai_cancel,
	.pause = openai_pause,
};
