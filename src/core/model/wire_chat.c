/* SPDX-License-Identifier: MIT
 * wire_chat.c - the wires that need a translation: chat completions, as llama.cpp, Ollama, vLLM and many others speak them, the
 * Responses API and Gemini (docs/internals/wires.md). */
#include "core/model/http_endpoint.h"
#include "core/wire/wire.h"
#include "lib/base/base64.h"

struct chat_exchange {
	struct http_call http;
	struct wire_model heeded; /* by this request */
	struct wire_body body;
	uint64_t sent; /* bytes of the body that were read */
	struct wire_stream stream;
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
		{ "://api.z.ai", CHAT_ECHO | CHAT_KEEP_THINKING },
		{ "://open.bigmodel.cn", CHAT_ECHO | CHAT_KEEP_THINKING },
		{ "dashscope", CHAT_ECHO }, /* coding-intl.dashscope.aliyuncs.com, too */
		{ "://api.kimi.com", CHAT_ECHO },
		{ "://api.minimax", CHAT_ECHO },
		{ "://api.mistral.ai", CHAT_SHORT_IDS | CHAT_ANSWER_BETWEEN | CHAT_SESSION_KEY | CHAT_ECHO_PARTS },
		{ ".openai.azure.com", CHAT_COMPLETION_TOKENS | CHAT_SESSION_KEY },
		{ "://api.deepinfra.com", CHAT_SESSION_KEY },
		{ "://generativelanguage.googleapis.com", GEMINI_SIGNED },
	};
	unsigned quirks = 0;

	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		quirks |= strstr(base, hosts[i].host) ? hosts[i].quirks : 0;
	return quirks;
}

static bool is_openrouter(const struct http_endpoint *p)
{
	const char *server = p->endpoint.provider->server;

	return strstr(p->base, "://openrouter.ai") || (server && !strcmp(server, "openrouter"));
}

/* OpenAI refuses tools in chat completions from GPT-5.4 on; xAI encrypts reasoning only in the Responses API. Prompts of Claude, and at
 * OpenRouter of Gemini, are cached up to marks. */
static void chat_model_at(const struct http_endpoint *p, const char *model, struct model_quirks *quirks)
{
	static const char *const echoing[] = { "ollama", "llamacpp", "vllm" }; /* templates use it inside a tool loop */
	const char *server = p->endpoint.provider->server;
	bool router = is_openrouter(p), gateway = router || (server && !strcmp(server, "litellm"));

	if (strstr(p->base, "://api.openai.com") || strstr(p->base, "://api.x.ai")) {
		quirks->wire = &wire_responses;
		quirks->bits |= CHAT_SESSION_KEY;
	}
	for (size_t i = 0; server && i < COUNT_OF(echoing); i++)
		quirks->bits |= strcmp(server, echoing[i]) ? 0 : CHAT_ECHO_SAME;
	if ((gateway && strstr(model, "claude")) || (router && strstr(model, "gemini")))
		quirks->bits |= CHAT_MARKS;
	if (gateway && !router && strstr(model, "claude"))
		quirks->bits |= CHAT_EMPTY_TOOLS;
}

static unsigned responses_quirks_at(const char *base)
{
	return CHAT_SESSION_KEY;
}

/* Gemini 1 and 2.0 do not think, 2.5 has a budget; from 3 on calls must be signed. */
static void gemini_model_at(const struct http_endpoint *p, const char *model, struct model_quirks *quirks)
{
	const char *version = strstr(model, "gemini-");

	version = version ? version + strlen("gemini-") : "";
	if (version[0] == '1' || !strncmp(version, "2.0", 3))
		quirks->bits |= WIRE_NO_REASONING;
	else if (version[0] == '2')
		quirks->bits |= GEMINI_BUDGET;
	else
		quirks->bits |= GEMINI_SIGNED;
}

/* The first row that matches the server's error and was not applied to the request yet. */
static const struct {
	const char *word, *and; /* and: NULL if the first says enough */
	unsigned quirk;
} refusals[] = {
	{ "reasoning_effort", "'none'", CHAT_EFFORT_NONE },    /* OpenAI from GPT-5.4 on, with tools */
	{ "reasoning_content", NULL, CHAT_ECHO },              /* DeepSeek, Kimi */
	{ "after role 'tool'", NULL, CHAT_ANSWER_BETWEEN },    /* Mistral */
	{ "roles must alternate", NULL, CHAT_ANSWER_BETWEEN }, /* its templates in llama.cpp, vLLM, LM Studio */
	{ "with a length of 9", NULL, CHAT_SHORT_IDS },        /* Mistral */
	{ "max_tokens", "too large", CHAT_NO_LIMIT },
	{ "max_tokens", "greater than", CHAT_NO_LIMIT },
	{ "maximum context length", "in the completion", CHAT_NO_LIMIT },
	{ "maximum context length", "for the completion", CHAT_NO_LIMIT }, /* SGLang */
	{ "maximum context length", "output tokens and", CHAT_NO_LIMIT },  /* vLLM */
	{ "max_completion_tokens", NULL, CHAT_COMPLETION_TOKENS },
	{ "stream_options", NULL, CHAT_NO_STREAM_OPTIONS },
	{ "parallel_tool_calls", NULL, CHAT_NO_PARALLEL_CALLS },
	{ "reasoning_effort", NULL, CHAT_NO_EFFORT },
	{ "input_file", NULL, WIRE_NO_DOCUMENTS },
	{ "generate reasoning summaries", NULL, WIRE_NO_SUMMARY }, /* OpenAI, of an account that is not verified */
	{ "reasoning.summary", NULL, WIRE_NO_SUMMARY },
	{ "reasoning.effort", NULL, CHAT_NO_EFFORT },
	{ "reasoningEffort", NULL, CHAT_NO_EFFORT }, /* xAI */
	{ "does not support thinking", NULL, CHAT_NO_EFFORT },
	{ "ncrypted content is not supported", NULL, WIRE_NO_REASONING },
	{ "'reasoning.encrypted_content'", NULL, WIRE_NO_REASONING },
	{ "thought_signature", NULL, GEMINI_SIGNED }, /* missing in a call */
	{ "hinking level", NULL, CHAT_NO_EFFORT },
	{ "hinking budget", NULL, CHAT_NO_EFFORT },
	{ "hinking is not", NULL, WIRE_NO_REASONING },
	{ "thinking_config", NULL, WIRE_NO_REASONING },
};

/* The status is that of the server's own trouble at llama.cpp, of a missing route at OpenRouter. */
bool refused_images(int status, struct str said)
{
	static const struct {
		const char *word, *and; /* and: NULL if the first says enough */
	} rows[] = {
		{ "mage input", "not supported" },  /* llama.cpp, xAI */
		{ "not a multimodal model", NULL }, /* vLLM */
		{ "At most 0 image", NULL },        /* the same */
		{ "does not support image", NULL },
		{ "does not support vision", NULL },
		{ "not a vision model", NULL },
		{ "not a VLM", NULL },                   /* SiliconFlow */
		{ "messages.content.type", "['text']" }, /* Z.ai, in two languages */
		{ "does not support multimodal", NULL },
		{ "image_url", "nvalid value" },
		{ "image_url is only supported by", NULL },
		{ "unknown variant `image", NULL },          /* DeepSeek */
		{ "nsupported content part type", "image" }, /* llama.cpp */
		{ "\"1214\"", "].type" },                    /* Z.ai, in Chinese */
		{ "image_url", "not supported" },
		{ "mage content", "not supported" },
		{ "mage input", "not enabled" },
		{ "required for image input", NULL },    /* Ollama */
		{ "that support image input", NULL },    /* OpenRouter */
		{ "value must be a string", "content" }, /* Groq */
		{ "should be a valid string", "content" },
		{ "invalid type: sequence", "string" }, /* servers in Rust */
		{ "image blocks are not supported", NULL },
		{ "Output of tool call should be", NULL }, /* llama.cpp */
		{ "Input should be 'text'\"", "content" }, /* pydantic */
	};

	if (status != 400 && status != 422 && status != 500 && status != 404)
		return false;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (str_has(said, str_from(rows[i].word)) && (!rows[i].and || str_has(said, str_from(rows[i].and))))
			return true;
	return false;
}

bool refused_stream(struct str said)
{
	static const char *const words[] = { "to stream this model", /* OpenAI, of an account that is not verified */
					     "'stream' does not support", /* OpenAI */
					     "in streaming mode",         /* Bedrock, of calls */
					     "unsupported for streaming" };

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_has(said, str_from(words[i])))
			return true;
	return false;
}

/* "the valid range of max_tokens is [1, 8192]", "must be less than or equal to `8192`", "supports at most 16384 completion tokens",
 * "max_tokens: 128000 > 64000, which is the maximum", "Expected a value <= 32768", "from 1 (inclusive) to 8193 (exclusive)" */
int64_t refused_limit(struct str said)
{
	static const char
		*const names[] = { "max_tokens",      "max_completion_tokens", "max_output_tokens",
				   "maxOutputTokens", "maximum tokens",        "max tokens must" /* Cohere */ };
	static const char *const marks[] = {
		"[1, ",      "less than or equal to",       "at most", "maximum allowed", "<= ", "(inclusive) to ",
		"limit of ", "greater than max_model_len=", " > ",     "cannot exceed "
	};
	bool meant = false;

	for (size_t i = 0; i < COUNT_OF(names); i++)
		meant = meant || str_has(said, str_from(names[i]));
	if (!meant || str_has(said, STR("context limit")) || str_has(said, STR("total number of tokens")))
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
			return n - str_starts((struct str){ p, (size_t)(end - p) }, STR(" (exclusive)"));
	}
	return 0;
}

/* "Unsupported value: 'xhigh'. Supported values are: 'none', 'low', 'medium', and 'high'": the next level below the one that was sent. 0:
 * none is named. */
static unsigned refused_effort(struct str said, struct str sent)
{
	static const struct {
		const char *level;
		unsigned quirk;
	} lower[] = { { "xhigh", 0 },
		      { "high", WIRE_EFFORT_HIGH },
		      { "medium", WIRE_EFFORT_MEDIUM },
		      { "low", WIRE_EFFORT_LOW } };
	bool below = false;

	if (!str_has(said, STR("effort")) && !str_has(said, STR("hinking level")))
		return 0;
	for (size_t i = 0; i < COUNT_OF(lower); i++) {
		struct str level = str_from(lower[i].level);
		const char *p = said.p, *end = said.p + said.n;
		for (; below && (p = memmem(p, (size_t)(end - p), level.p, level.n)); p++)
			if (p > said.p && char_in(p[-1], "'\"`"))
				return lower[i].quirk;
		below = below || str_eq(sent, level);
	}
	return 0;
}

static bool refuses_something(struct str said)
{
	static const char *const words[] = { "nsupported", "not supported", "not permitted", "lease remove",
					     "nknown",     "nrecognized",   "nexpected",     "_forbidden" };

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_has(said, str_from(words[i])))
			return true;
	return false;
}

/* Whether a name stands in quotes, begins a text or ends a sentence: "Unknown parameter: 'store'.", "store: Extra inputs are not
 * permitted", "loc": ["body", "store"]. As a word it may be any. */
static bool names_member(struct str said, struct str name)
{
	const char *p = said.p, *end = said.p + said.n;

	for (; (p = memmem(p, (size_t)(end - p), name.p, name.n)); p++) {
		struct str before = { said.p, (size_t)(p - said.p) };
		char next = p + name.n < end ? p[name.n] : ' ';
		bool is_whole = !char_in(next, "abcdefghijklmnopqrstuvwxyz_.[");
		if (is_whole && before.n && (char_in(before.p[before.n - 1], "'`\"") || str_ends(before, STR(": "))))
			return true;
	}
	return false;
}

/* True: the server named an unsupported parameter, and the request can be sent without it. Quirks belong
 * to one model, not to the server. Concurrent requests may learn the same: each is sent again. */
static bool chat_learn(struct http_call *c)
{
	enum { ANY_ECHO = CHAT_ECHO | CHAT_ECHO_PLAIN | CHAT_ECHO_SAME };
	/* What is sent to known hosts or by the catalog only, and old versions or gateways of them refuse */
	static const struct {
		const char *word;
		unsigned quirk;
	} additions[] = { { "prompt_cache_key", CHAT_SESSION_KEY },
			  { "thinking", CHAT_KEEP_THINKING },
			  { "max_completion_tokens", CHAT_COMPLETION_TOKENS },
			  { "reasoning_content", ANY_ECHO },
			  { "'reasoning'", ANY_ECHO },
			  { "\"reasoning\"", ANY_ECHO } };
	/* Of the Responses API */
	static const struct {
		const char *name;
		unsigned quirk;
	} members[] = { { "store", WIRE_NO_STORE },
			{ "include", WIRE_NO_REASONING },
			{ "reasoning", WIRE_NO_REASONING },
			{ "max_output_tokens", CHAT_NO_LIMIT } };
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);
	struct str said = buf_str(&c->call->error_body);
	int64_t sent = wire_head(c->wire->form, c->call->body.head)->max_tokens;
	int64_t limit = refused_limit(said);
	bool missing = c->call->status == 404 || c->call->status == 405;

	/* "This model is only supported in v1/responses", "use /v1/responses", and Azure's words: as long as the server has it. */
	bool not_chat =
		str_has(said, STR("v1/responses")) || str_has(said, STR("chatCompletion operation does not work"));
	if (c->wire == &wire_chat && (missing || c->call->status == 400) && not_chat && !c->quirks->no_responses) {
		c->quirks->wire = &wire_responses;
		c->quirks->bits |= CHAT_SESSION_KEY;
		return true;
	}
	if (c->wire == &wire_responses && missing && c->server->endpoint.provider->wire == &wire_chat &&
	    !str_has(said, STR("model_not_found")) && !c->quirks->no_responses) {
		c->quirks->wire = &wire_chat;
		c->quirks->no_responses = true;
		return true;
	}
	if (str_has(said, STR("tool_use_failed"))) /* words of the model: see chat_finish() */
		return false;
	if (!(x->heeded.quirks & CHAT_NO_IMAGES) && refused_images(c->call->status, said)) {
		c->quirks->bits |= CHAT_NO_IMAGES;
		return true;
	}
	if (c->call->status != 400 && c->call->status != 422 && c->call->status != 500) /* 500: llama.cpp */
		return false;
	if (!(x->heeded.quirks & WIRE_NO_STREAM) && c->wire != &wire_gemini && refused_stream(said)) {
		c->quirks->bits |= WIRE_NO_STREAM;
		return true;
	}
	/* The keys of the server have changed: it cannot read what it encrypted before. */
	if (str_has(said, STR("invalid_encrypted_content")) && !c->quirks->forgets) {
		c->quirks->forgets = true;
		return true;
	}
	if (limit && limit < (x->heeded.limit ? MIN(x->heeded.limit, sent) : sent)) {
		c->quirks->limit = limit;
		return true;
	}
	unsigned lower = refused_effort(
		said, wire_effort(c->wire->form, wire_head(c->wire->form, c->call->body.head), x->heeded.quirks));
	if (lower && !(x->heeded.quirks & (CHAT_NO_EFFORT | CHAT_EFFORT_NONE))) {
		c->quirks->bits |= lower;
		return true;
	}
	bool is_unwanted = refuses_something(said); /* else a server wants reasoning back */
	for (size_t i = 0; i < COUNT_OF(additions); i++)
		if (x->heeded.quirks & additions[i].quirk && str_has(said, str_from(additions[i].word)) &&
		    (additions[i].quirk != ANY_ECHO || is_unwanted)) {
			c->quirks->bits &= ~additions[i].quirk;
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
	for (size_t i = 0; i < COUNT_OF(members) && is_unwanted && c->wire == &wire_responses; i++) {
		if (x->heeded.quirks & members[i].quirk || !names_member(said, str_from(members[i].name)))
			continue;
		c->quirks->bits |= members[i].quirk;
		return true;
	}
	return false;
}

static void chat_begin(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	const char *provider =
		c->quirks->forgets ? arena_printf(&c->arena, "%s again", c->server->base) : c->server->base;

	/* Servers that keep a conversation on one machine find its cache there. */
	if (is_openrouter(c->server))
		c->own_headers[0] = arena_printf(&c->arena, "x-session-id: %s", c->call->session_id);
	else if (strstr(c->server->base, "://api.x.ai"))
		c->own_headers[0] = arena_printf(&c->arena, "x-grok-conv-id: %s", c->call->session_id);
	unsigned bits = c->quirks->bits & ~(c->call->body.head->marks == MARKS_NONE ? (unsigned)CHAT_MARKS : 0);
	if (bits & CHAT_EMPTY_TOOLS && !body_has_calls(&c->call->body))
		bits &= ~(unsigned)CHAT_EMPTY_TOOLS;
	/* Agents with one head share a prefix, and its cache. */
	const char *key = arena_printf(&c->arena, "%.48s-%08x", c->call->session_id,
				       wire_head(c->wire->form, c->call->body.head)->hash);
	x->heeded = (struct wire_model){ bits, c->quirks->limit, key,
					 wire_origin(&c->arena, provider, str_from(c->model)) };
	wire_body_init(&x->body, c->wire->form, &c->call->body, &x->heeded);
	wire_stream_init(&x->stream, c->wire->form, &c->call->answer, c->call->body.transcript, x->body.size);
	x->stream.names = wire_head(c->wire->form, c->call->body.head)->names;
	x->stream.origin = x->heeded.origin;
	c->size = x->body.size;
	if (c->wire != &wire_gemini)
		return;
	AUTO_BUF struct buf name = { 0 };
	percent_encode(&name, str_from(c->name[0] ? c->name : "-"), "@:");
	c->url = arena_printf(&c->arena, "%s/models/%s:streamGenerateContent?alt=sse%s%s", c->server->base, name.p,
			      c->server->query ? "&" : "", c->server->query ? c->server->query : "");
}

/* A request that was sent may wait for minutes: what was only made for sending goes, and is made again if it is needed. */
static size_t chat_read(struct http_call *c, char *out, size_t room)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);
	size_t n = x->sent < c->size ? wire_body_read(&x->body, out, room) : 0;

	x->sent += n;
	if (x->sent == c->size)
		wire_body_release(&x->body);
	return n;
}

static void chat_rewind(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	if (x->body.tail)
		wire_body_rewind(&x->body);
	else
		wire_body_init(&x->body, c->wire->form, &c->call->body, &x->heeded);
	x->sent = 0;
}

/* Anything but an event stream is kept: it may be an answer that came whole. */
static bool chat_feed(struct http_call *c, const char *p, size_t n)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	struct str bytes = { p, n };

	if (model_call_is_stream(c->call, &bytes))
		wire_stream_feed(&x->stream, bytes.p, bytes.n);
	return !c->call->answer.failure.kind;
}

static void chat_finish(struct http_call *c, bool whole)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	if (whole && c->call->status == 200 && !c->call->is_stream)
		c->call->is_stream = wire_stream_whole(&x->stream, buf_str(&c->call->error_body));
	/* Groq: the model wrote a call that is none */
	if (whole && c->call->status == 400 && str_has(buf_str(&c->call->error_body), STR("tool_use_failed")) &&
	    wire_stream_whole(&x->stream, buf_str(&c->call->error_body)) && x->stream.over) {
		c->call->is_stream = true;
		c->call->status = 200;
	}
	wire_stream_end(&x->stream);
}

static void chat_release(struct http_call *c)
{
	struct chat_exchange *x = CONTAINER_OF(c, struct chat_exchange, http);

	wire_body_release(&x->body);
	wire_stream_release(&x->stream);
}

static const struct wire_quirk chat_quirk_names[] = {
	{ "completionTokens", CHAT_COMPLETION_TOKENS },
	{ "noLimit", CHAT_NO_LIMIT },
	{ "noStreamOptions", CHAT_NO_STREAM_OPTIONS },
	{ "noParallelCalls", CHAT_NO_PARALLEL_CALLS },
	{ "noEffort", CHAT_NO_EFFORT },
	{ "noImages", CHAT_NO_IMAGES },
	{ "noDocuments", WIRE_NO_DOCUMENTS },
	{ "effortNone", CHAT_EFFORT_NONE },
	{ "answerBetween", CHAT_ANSWER_BETWEEN },
	{ "shortIds", CHAT_SHORT_IDS },
	{ "sessionKey", CHAT_SESSION_KEY },
	{ "echo", CHAT_ECHO },
	{ "echoReasoning", CHAT_ECHO_PLAIN },
	{ "echoParts", CHAT_ECHO_PARTS },
	{ "echoSame", CHAT_ECHO_SAME },
	{ "keepThinking", CHAT_KEEP_THINKING },
	{ "noReasoning", WIRE_NO_REASONING },
	{ "noSummary", WIRE_NO_SUMMARY },
	{ "noStore", WIRE_NO_STORE },
	{ "noStream", WIRE_NO_STREAM },
	{ "effortHigh", WIRE_EFFORT_HIGH },
	{ "effortMedium", WIRE_EFFORT_MEDIUM },
	{ "effortLow", WIRE_EFFORT_LOW },
	{ "marks", CHAT_MARKS },
	{ "emptyTools", CHAT_EMPTY_TOOLS },
	{ "signed", GEMINI_SIGNED },
	{ "thinkingBudget", GEMINI_BUDGET },
	{ NULL, 0 },
};

#define FORM_WIRE                                                                                                      \
	.quirks = chat_quirk_names, .call_size = sizeof(struct chat_exchange), .begin = chat_begin, .read = chat_read, \
	.rewind = chat_rewind, .feed = chat_feed, .learn = chat_learn, .finish = chat_finish, .release = chat_release

const struct wire wire_chat = {
	FORM_WIRE,
	.name = "chat",
	.path = "/chat/completions",
	.form = &form_chat,
	.quirks_at = chat_quirks_at,
	.model_at = chat_model_at,
};

const struct wire wire_responses = {
	FORM_WIRE, .name = "responses", .path = "/responses", .form = &form_responses, .quirks_at = responses_quirks_at,
};

const struct wire wire_gemini = {
	FORM_WIRE,
	.name = "gemini",
	.path = "", /* has the model in it */
	.form = &form_gemini,
	.model_at = gemini_model_at,
};
