/* SPDX-License-Identifier: MIT
 * wire_messages.c - the wires of the Messages API: as it is, and as Bedrock (invoke: frames around the events) and Vertex (rawpredict) take it,
 * with another beginning of the body and the model in the address. */
#include "core/model/catalog.h"
#include "core/model/event_stream.h"
#include <zlib.h>
#include "core/credential/sigv4.h"
#include "core/model/http_endpoint.h"
#include "core/wire/wire.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

struct messages_call {
	struct http_call http;
	size_t skip;   /* bytes of the head that http.beginning replaces */
	size_t offset; /* in the beginning */
	struct event_stream frames;
};

/* Members that a server or model may not take */
enum {
	NO_EFFORT = 1 << 0,
	NO_THINKING = 1 << 1,
	NO_BETAS = 1 << 2,
	/* It thinks by default and wants its thinking back before each call: calls of another model have none. */
	THINKING_OFF = 1 << 3,
	NO_IMAGES = 1 << 4,
	NO_DOCUMENTS = 1 << 5,
	NO_RESULT_MEDIA = 1 << 6, /* neither of them in results of tools */
	NO_STREAM = 1 << 7,
	NO_MARKS = 1 << 8,
	PLAIN_SCHEMAS = 1 << 9 /* of tools: some of their keywords are refused */
};

static const struct wire_quirk messages_quirks[] = { { "noEffort", NO_EFFORT },
						     { "noThinking", NO_THINKING },
						     { "noBetas", NO_BETAS },
						     { "thinkingOff", THINKING_OFF },
						     { "noImages", NO_IMAGES },
						     { "noDocuments", NO_DOCUMENTS },
						     { "noResultMedia", NO_RESULT_MEDIA },
						     { "noStream", NO_STREAM },
						     { "noMarks", NO_MARKS },
						     { "plainSchemas", PLAIN_SCHEMAS },
						     { NULL, 0 } };

static size_t messages_read(struct http_call *c, char *out, size_t room)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);
	size_t n = MIN(room, c->beginning.n - m->offset);

	if (n)
		memcpy(out, c->beginning.p + m->offset, n);
	m->offset += n;
	return n + body_read(&c->call->body, out + n, room - n);
}

static void messages_rewind(struct http_call *c)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);

	m->offset = 0;
	body_rewind(&c->call->body);
	c->call->body.offset = m->skip;
}

/* Bedrock refuses a whole request for one beta that its model does not have. These pass, from a version of Claude on. */
static bool bedrock_takes(struct str beta, unsigned version)
{
	static const struct {
		const char *beta;
		unsigned since;
	} rows[] = {
		{ "compact-2026-01-12", 406 },
		{ "computer-use-2025-01-24", 307 },
		{ "computer-use-2025-11-24", 405 },
		{ "context-1m-2025-08-07", 400 },
		{ "context-management-2025-06-27", 405 },
		{ "dev-full-thinking-2025-05-14", 400 },
		{ "effort-2025-11-24", 405 },
		{ "interleaved-thinking-2025-05-14", 400 },
		{ "output-128k-2025-02-19", 307 },
		{ "token-efficient-tools-2025-02-19", 307 },
		{ "tool-examples-2025-10-29", 405 },
		{ "tool-search-tool-2025-10-19", 405 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (str_is(beta, rows[i].beta))
			return version >= rows[i].since;
	return false;
}

/* As a comma list, NULL: none. The user sees once which ones Bedrock does not get. */
static const char *betas_of(struct http_call *c)
{
	const struct endpoint *e = &c->server->endpoint;
	struct str rest = str_from(c->server->betas);
	const char *passed = NULL, *left_out = NULL;

	if (!rest.p || c->quirks->bits & NO_BETAS)
		return NULL;
	if (c->wire != &wire_invoke)
		return rest.p;
	const char *id = arena_printf(&c->arena, "%s/%s", e->provider->name, c->model);
	unsigned version = model_version(e->of ? &e->of->providers : NULL, id);
	while (rest.p) {
		struct str beta = str_trim(str_cut(&rest, ','));
		const char **list = bedrock_takes(beta, version) ? &passed : &left_out;
		*list = arena_printf(&c->arena, "%s%s" STR_FMT, *list ? *list : "", *list ? "," : "", STR_ARG(beta));
	}
	if (left_out && !c->quirks->told_betas && c->call->on_note)
		c->call->on_note(c->call,
				 str_from(arena_printf(&c->arena, "Bedrock does not take these betas for %s: %s",
						       c->model, left_out)));
	c->quirks->told_betas = true;
	return passed;
}

/* Beta: the server reports thinking that it took out, and takes it out in place of refusing the request. */
#define BINDING_BETA  "thinking-binding-controls"
#define BINDING_WORDS ",\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}}"

static bool reports_thinking(struct http_call *c)
{
	const char *betas = betas_of(c);

	return betas && strstr(betas, BINDING_BETA);
}

/* The end of the object member that `p` begins with, or p. Its texts have no brackets. */
static const char *member_end(const char *p, const char *end, const char *key)
{
	size_t n = strlen(key), depth = 0;

	if ((size_t)(end - p) < n || memcmp(p, key, n) != 0)
		return p;
	for (const char *at = p + n - 1; at < end; at++) {
		depth += *at == '{';
		if (*at == '}' && !--depth)
			return at + 1;
	}
	return p;
}

/* The tools with schemas that every server takes. */
static void add_plain_tools(struct buf *out, const struct json *tools)
{
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t)) {
		const char *before = "{";
		buf_addstr(out, t == json_first(tools) ? "[" : ",");
		for (struct json_member m = json_members(t); m.key; m = json_member_next(t, m)) {
			struct str key = json_raw(m.key), value = json_raw(m.value);
			buf_addf(out, "%s" STR_FMT ":", before, STR_ARG(key));
			before = ",";
			if (json_str_is(m.key, "input_schema"))
				wire_lower_schema(out, m.value);
			else
				buf_append(out, value);
		}
		buf_addch(out, '}');
	}
	buf_addch(out, ']');
}

/* The rest of the head, from a byte of it on, for a server that refuses its schemas or marks */
static void add_rest(struct http_call *c, const char *from, struct buf *out)
{
	static const char mark[] = ",\"cache_control\":{";
	struct str head = c->call->body.head->bytes;
	AUTO_JSON struct json_reader reader = { 0 };
	const char *end = head.p + head.n, *at;

	if (c->quirks->bits & PLAIN_SCHEMAS) {
		const struct json *root = head_parse(&reader, &c->arena, head), *tools = json_get(root, "tools");
		struct str all = json_raw(root), raw = json_raw(tools);
		if (json_first(tools)) {
			const char *list = head.p + (raw.p - all.p); /* the same place as in the copy */
			buf_add(out, from, (size_t)(list - from));
			add_plain_tools(out, tools);
			from = list + raw.n;
		}
	}
	while (c->quirks->bits & NO_MARKS && (at = memmem(from, (size_t)(end - from), mark, sizeof mark - 1))) {
		buf_add(out, from, (size_t)(at - from));
		from = member_end(at, end, mark);
	}
	buf_add(out, from, (size_t)(end - from));
}

/* A head begins with model, max_tokens and stream, and then what a model may not take (head_json.c). Another name or wire wants other
 * members in their place. */
static void rewrite_beginning(struct messages_call *m, const char *version)
{
	static const struct {
		const char *key;
		unsigned quirk;
	} optional[] = { { ",\"output_config\":{", NO_EFFORT }, { ",\"thinking\":{", NO_THINKING | THINKING_OFF } };
	struct http_call *c = &m->http;
	struct str head = c->call->body.head->bytes;
	const struct str stream = STR("\"stream\":true");
	const char *limit = memmem(head.p, head.n, "\"max_tokens\":", 13);
	const char *end = memmem(head.p, head.n, stream.p, stream.n);
	struct str betas = str_from(c->wire == &wire_invoke ? betas_of(c) : NULL);
	AUTO_BUF struct buf out = { 0 };

	bool toolless = !str_has(head, STR(",\"tools\":[")) && body_has_calls(&c->call->body);
	bool as_it_is =
		!version && c->name == c->model && !c->quirks->limit && !toolless &&
		!(c->quirks->bits & (NO_EFFORT | NO_THINKING | THINKING_OFF | NO_STREAM | NO_MARKS | PLAIN_SCHEMAS)) &&
		!reports_thinking(c);
	if (as_it_is || !limit || !end)
		return;
	struct json_out w = json_out(&out);
	json_open(&w, '{');
	if (version)
		json_kcstr(&w, "anthropic_version", version);
	else
		json_kcstr(&w, "model", c->name);
	if (betas.p) {
		json_kopen(&w, "anthropic_beta", '[');
		while (betas.p)
			json_put_str(&w, str_cut(&betas, ','));
		json_close(&w);
	}
	int64_t most = strtoll(limit + strlen("\"max_tokens\":"), NULL, 10);
	json_ki64(&w, "max_tokens", c->quirks->limit ? MIN(c->quirks->limit, most) : most);
	if (c->wire != &wire_invoke && !(c->quirks->bits & NO_STREAM)) /* the address of invoke says that it streams */
		buf_addstr(&out, ",\"stream\":true");
	end += stream.n;
	for (size_t i = 0; i < COUNT_OF(optional); i++) {
		const char *next = member_end(end, head.p + head.n, optional[i].key);
		bool binds = next > end && optional[i].quirk & NO_THINKING && reports_thinking(c);
		if (!(c->quirks->bits & optional[i].quirk))
			buf_addf(&out, STR_FMT "%s", (int)(next - end) - binds, end, binds ? BINDING_WORDS : "");
		end = next;
	}
	if (c->quirks->bits & THINKING_OFF)
		buf_addstr(&out, ",\"thinking\":{\"type\":\"disabled\"}");
	if (toolless) /* calls of the past are taken only where tools are defined */
		buf_addstr(&out, ",\"tools\":[{\"name\":\"no_tools\",\"description\":\"There are no tools here.\","
				 "\"input_schema\":{\"type\":\"object\"}}],\"tool_choice\":{\"type\":\"none\"}");
	if (c->quirks->bits & (NO_MARKS | PLAIN_SCHEMAS)) {
		add_rest(c, end, &out);
		end = head.p + head.n;
	}
	m->http.beginning = arena_str(&m->http.arena, buf_str(&out));
	m->skip = (size_t)(end - head.p);
}

static void begin_request(struct http_call *c, const char *version)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);
	struct answer *answer = &c->call->answer;
	const char *again = c->quirks->forgets ? " again" : "", *base = c->server->base;
	const char *whole = arena_printf(&c->arena, "%s%s %s", base, again, c->model);

	rewrite_beginning(m, version);
	answer->origin = (uint16_t)(ORIGIN_FIRST + str_hash(str_from(whole)) % (ORIGIN_SEVERAL - ORIGIN_FIRST));
	/* Anthropic and clouds take their own thinking back only if it is signed, other servers as they gave it. */
	answer->unsigned_too =
		c->wire == &wire_messages && !strstr(base, "://api.anthropic.com") &&
		(c->server->endpoint.provider == &provider_anthropic || c->server->endpoint.provider->own);
	unsigned bits = c->quirks->bits;
	body_replace_media(&c->call->body,
			   (bits & NO_IMAGES ? BODY_IMAGES : 0) | (bits & NO_DOCUMENTS ? BODY_DOCUMENTS : 0) |
				   (bits & NO_RESULT_MEDIA ? BODY_RESULT_MEDIA : 0),
			   &c->arena);
	if (bits & NO_MARKS)
		body_drop_marks(&c->call->body);
	body_set_origin(&c->call->body, answer->origin, c->quirks->forgets);
	messages_rewind(c);
	c->size = c->call->body.size - m->skip + c->beginning.n;
	c->fixed = c->call->body.head->bytes.n - m->skip + c->beginning.n;
	const char **header = c->own_headers;
	*header++ = arena_printf(&c->arena, "x-claude-code-session-id: %s", c->call->session_id);
	if (!version)
		*header++ = "anthropic-version: 2023-06-01";
	if (betas_of(c) && c->wire != &wire_invoke)
		*header = arena_printf(&c->arena, "anthropic-beta: %s", betas_of(c));
}

static void messages_begin(struct http_call *c)
{
	begin_request(c, NULL);
}

/* Old upstreams and gateways refuse what they do not know, each in words of its own. True: the request can be sent without it. */
static bool messages_learn(struct http_call *c)
{
	static const struct {
		const char *word, *and; /* and: NULL if the first says enough */
		unsigned quirk;
	} refusals[] = {
		{ "beta flag", NULL, NO_BETAS },
		{ "anthropic-beta", NULL, NO_BETAS },
		{ "anthropic_beta", NULL, NO_BETAS },
		{ "capability_rejected", "beta", NO_BETAS },
		{ "thinking mode must be passed back", NULL, THINKING_OFF }, /* DeepSeek */
		{ "thinking is enabled but", NULL, THINKING_OFF },           /* Kimi */
		{ "output_config", NULL, NO_EFFORT },
		{ "effort", NULL, NO_EFFORT },
		{ "adaptive", NULL, NO_THINKING },
		{ "thinking", "not support", NO_THINKING },
		{ "thinking", "Extra inputs", NO_THINKING },
		{ "thinking", "nsupported", NO_THINKING },
		{ "thinking", "nknown", NO_THINKING },
		{ "thinking", "nrecognized", NO_THINKING },
		{ "thinking", "nexpected", NO_THINKING },
		{ "thinking", "Input should be", NO_THINKING }, /* oMLX */
		{ "disabled", "must be in", NO_THINKING },      /* SenseNova */
		{ "thinking", "capability_rejected", NO_THINKING },
		{ "start with a thinking block", NULL, NO_THINKING }, /* of another model: it is not sent */
		{ "budget_tokens", NULL, NO_THINKING },
		{ "Only text tool_result blocks", NULL, NO_RESULT_MEDIA }, /* LM Studio */
		{ "or document inputs", NULL, NO_DOCUMENTS },
		{ "ocument", "not support", NO_DOCUMENTS },
		{ "PDF", "not support", NO_DOCUMENTS },
		{ "unknown variant `document", NULL, NO_DOCUMENTS },
		{ "invalid thinking", NULL, NO_THINKING }, /* Kimi: only type=enabled */
		{ "cache_control", "Extra inputs", NO_MARKS },
		{ "cache_control", "nknown", NO_MARKS },
		{ "cache_control", "nrecognized", NO_MARKS },
		{ "cache_control", "not support", NO_MARKS },
		{ "input_schema", NULL, PLAIN_SCHEMAS },
		{ "Invalid schema for function", NULL, PLAIN_SCHEMAS },
	};
	struct str said = buf_str(&c->call->error_body), head = c->call->body.head->bytes;
	const char *most = memmem(head.p, head.n, "\"max_tokens\":", 13);
	int64_t limit = refused_limit(said), sent = most ? strtoll(most + 13, NULL, 10) : 0;
	unsigned has = THINKING_OFF | NO_DOCUMENTS | NO_RESULT_MEDIA | (c->server->betas ? NO_BETAS : 0);

	if (!(c->quirks->bits & NO_IMAGES) && refused_images(c->call->status, said)) {
		c->quirks->bits |= NO_IMAGES;
		return true;
	}
	if (!(c->quirks->bits & NO_STREAM) && c->wire == &wire_messages && c->call->status >= 400 &&
	    refused_stream(said)) {
		c->quirks->bits |= NO_STREAM;
		return true;
	}
	/* LM Studio answers with 500. */
	if (!(c->quirks->bits & PLAIN_SCHEMAS) && c->call->status >= 400 && str_has(said, STR("grammar"))) {
		c->quirks->bits |= PLAIN_SCHEMAS;
		return true;
	}
	if (c->call->status != 400 && c->call->status != 422)
		return false;
	/* Thinking of another account, or that a server cannot read any more: none of it is sent again. */
	if (str_has(said, STR("signature")) && str_has(said, STR("thinking")) && !c->quirks->forgets) {
		c->quirks->forgets = true;
		return true;
	}
	if (limit && limit < (c->quirks->limit ? MIN(c->quirks->limit, sent) : sent)) {
		c->quirks->limit = limit;
		return true;
	}
	has |= str_has(head, STR(",\"tools\":[")) ? PLAIN_SCHEMAS : 0;
	has |= c->call->body.mark_count && !str_has(said, STR("ttl")) ? NO_MARKS
								      : 0; /* else ENABLE_PROMPT_CACHING_1H */
	has |= str_has(head, STR("\"stream\":true,\"output_config\":{")) ? NO_EFFORT : 0;
	has |= str_has(head, STR(",\"thinking\":{\"type\":")) ? NO_THINKING : 0;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		if (!str_has(said, str_from(refusals[i].word)) ||
		    (refusals[i].and &&!str_has(said, str_from(refusals[i].and))) ||
		    !(has & ~c->quirks->bits & refusals[i].quirk))
			continue;
		c->quirks->bits |= refusals[i].quirk;
		return true;
	}
	return false;
}

/* Of anything but an event stream and JSON, which may be an answer that came whole, the beginning is kept for the error. */
static bool messages_feed(struct http_call *c, const char *p, size_t n)
{
	enum { LARGEST_PAGE = 4096 };
	const struct buf *kept = &c->call->error_body;
	struct str bytes = { p, n };

	if (model_call_is_stream(c->call, &bytes))
		answer_feed(&c->call->answer, bytes.p, bytes.n);
	else if (kept->n > LARGEST_PAGE && kept->p[0] != '{')
		return false;
	return !c->call->answer.failure.kind;
}

static void messages_finish(struct http_call *c, bool whole)
{
	if (whole && c->call->status == 200 && !c->call->is_stream)
		c->call->is_stream = answer_whole(&c->call->answer, buf_str(&c->call->error_body));
}

static void messages_release(struct http_call *c)
{
	buf_release(&CONTAINER_OF(c, struct messages_call, http)->frames.bytes);
}

#define MESSAGES_WIRE                                                                                \
	.quirks = messages_quirks, .call_size = sizeof(struct messages_call), .read = messages_read, \
	.rewind = messages_rewind, .learn = messages_learn, .release = messages_release

const struct wire wire_messages = {
	MESSAGES_WIRE,           .name = "messages",    .path = "/v1/messages",
	.begin = messages_begin, .feed = messages_feed, .finish = messages_finish,
};

const char *vertex_region(const struct variables *v, const char *model)
{
	struct str name = { model, strcspn(model, "@") }, version = name;
	char variables[3][96];
	const char *region = NULL;

	(void)str_cut(&version, '-');
	struct str family = str_cut(&version, '-');
	snprintf(variables[0], sizeof variables[0], "CLAUDE_" STR_FMT "_" STR_FMT, STR_ARG(version), STR_ARG(family));
	snprintf(variables[1], sizeof variables[1], "CLAUDE_" STR_FMT "_0_" STR_FMT, STR_ARG(version), STR_ARG(family));
	snprintf(variables[2], sizeof variables[2], STR_FMT, STR_ARG(name));
	for (size_t i = 0; i < COUNT_OF(variables) && !region; i++) {
		char variable[sizeof variables[0] + 16];
		snprintf(variable, sizeof variable, "VERTEX_REGION_%s", variables[i]);
		for (char *p = variable; *p; p++)
			*p = char_in(*p, "-.") ? '_' : *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
		region = variables_get(v, variable);
	}
	return region ? region : variables_get(v, "CLOUD_ML_REGION");
}

static void rawpredict_begin(struct http_call *c)
{
	const struct http_endpoint *p = c->server;
	const char *base = p->base, *region = vertex_region(&p->variables, c->name);

	if (p->endpoint.provider->own || !region)
		region = p->region;
	if (!base[0] && !strcmp(region, "global"))
		base = "https://aiplatform.googleapis.com/v1";
	else if (!base[0] && (!strcmp(region, "us") || !strcmp(region, "eu")))
		base = arena_printf(&c->arena, "https://aiplatform.%s.rep.googleapis.com/v1", region);
	else if (!base[0])
		base = arena_printf(&c->arena, "https://%s-aiplatform.googleapis.com/v1", region);
	AUTO_BUF struct buf url = { 0 };
	buf_addf(&url, "%s/projects/%s/locations/%s/publishers/anthropic/models/", base, p->project, region);
	percent_encode(&url, str_from(c->name), "@:");
	buf_addstr(&url, ":streamRawPredict");
	c->url = arena_dup(&c->arena, url.p, url.n);
	begin_request(c, "vertex-2023-10-16");
}

const struct wire wire_rawpredict = {
	MESSAGES_WIRE,         .name = "rawpredict",      .path = "", .begin = rawpredict_begin,
	.feed = messages_feed, .finish = messages_finish,
};

/* {"bytes":"base64 of an event"}; frames without it are ignored. */
static void on_frame(void *data, const char *exception, struct str payload)
{
	struct http_call *c = data;
	struct answer *answer = &c->call->answer;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf event = { 0 };
	const struct str key = STR("{\"bytes\":\"");
	const char *from = payload.p + key.n, *end = NULL;
	const struct json *root = NULL;
	struct err err = { 0 };

	/* The usual form needs no parser: base64 has no escapes. */
	if (!exception && str_starts(payload, key))
		end = memchr(from, '"', payload.n - key.n);
	struct str bytes = { from, end ? (size_t)(end - from) : 0 };
	if (!end || memchr(bytes.p, '\\', bytes.n)) {
		(void)json_parse(&reader, payload.p, payload.n, &root, NULL);
		bytes = json_str(json_get(root, "bytes"), &a);
	}
	if (exception) {
		struct str said = root ? json_str(json_get(root, "message"), &a) : payload;
		if (!answer->ended)
			failure_from_event(&answer->failure, str_from(exception),
					   said.n ? said : STR("the stream was ended"));
		return;
	}
	if (!bytes.n)
		return;
	if (base64_decode(&event, bytes, &err) < 0)
		failure_set(&answer->failure, FAIL_GARBAGE, "the answer breaks the protocol: a frame is not base64");
	else
		answer_event(answer, buf_str(&event));
	struct usage *u = &answer->usage;
	if (!answer->ended || u->input || u->output || json_parse(&reader, event.p, event.n, &root, NULL) < 0)
		return;
	/* The last event has counts of Bedrock itself, for models that report no usage. */
	const struct json *metrics = json_get(root, "amazon-bedrock-invocationMetrics");
	(void)usage_count(json_get(metrics, "inputTokenCount"), &u->input);
	(void)usage_count(json_get(metrics, "outputTokenCount"), &u->output);
	(void)usage_count(json_get(metrics, "cacheReadInputTokenCount"), &u->cache_read);
	(void)usage_count(json_get(metrics, "cacheWriteInputTokenCount"), &u->cache_write);
}

static bool invoke_feed(struct http_call *c, const char *p, size_t n)
{
	struct model_call *call = c->call;
	struct err err = { 0 };

	/* A gateway may make another stream of it, or only change its type. */
	call->is_stream = call->is_frames || c->server->any_type;
	if (!call->is_stream) {
		buf_add(&call->error_body, p, n); /* its beginning says what it is */
		return false;
	}
	if (event_stream_feed(&CONTAINER_OF(c, struct messages_call, http)->frames, p, n, &err) < 0 &&
	    !call->answer.ended)
		failure_set(&call->answer.failure, FAIL_CUT, "the answer is damaged: %s", err.text);
	return !call->answer.failure.kind;
}

/* A slash of an ARN is part of the name and must be escaped. */
static void invoke_begin(struct http_call *c)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);
	AUTO_BUF struct buf url = { 0 };

	const char *base = c->server->base;
	c->region = bedrock_small_region(&c->server->variables, c->model);
	if (c->region && strstr(base, ".amazonaws.com")) /* else a gateway, which has no regions */
		base = arena_printf(&c->arena, "https://bedrock-runtime.%s.amazonaws.com", c->region);
	buf_addf(&url, "%s/model/", base);
	percent_encode(&url, str_from(c->name), ":");
	buf_addstr(&url, "/invoke-with-response-stream");
	c->url = arena_dup(&c->arena, url.p, url.n);
	m->frames = (struct event_stream){ .on_frame = on_frame, .data = c };
	begin_request(c, "bedrock-2023-05-31");
}

const struct wire wire_invoke = {
	MESSAGES_WIRE, .name = "invoke", .path = "", .begin = invoke_begin, .feed = invoke_feed,
};

/* U32 size, u32 size of the headers, u32 CRC of these eight bytes, headers, payload, u32 CRC of all before. Big
 * endian. */

enum {
	PRELUDE = 12,
	TRAILER = 4,
	LARGEST_FRAME = 24 << 20,
	LARGEST_HEADERS = 128 << 10
}; /* limits of AWS's own library */

static uint32_t be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static uint32_t checksum(const char *p, size_t n)
{
	return (uint32_t)crc32(0, (const unsigned char *)p, (uInt)n);
}

/* The next header; false at the end or if it is damaged (*ret_bad). value is empty for all types but a string. */
static bool next_header(struct str *rest, struct str *ret_name, struct str *ret_value, bool *ret_bad)
{
	static const unsigned char sizes[] = { 0, 0, 1, 2, 4, 8, 0, 0, 8, 16 };
	const unsigned char *p = (const unsigned char *)rest->p;

	if (!rest->n)
		return false;
	*ret_bad = true;
	size_t at = 1u + p[0];
	if (at >= rest->n || p[at] >= sizeof sizes)
		return false;
	*ret_name = (struct str){ rest->p + 1, p[0] };
	unsigned type = p[at++];
	size_t size = sizes[type];
	if (type == 6 || type == 7) {
		if (at + 2 > rest->n)
			return false;
		size = (size_t)p[at] << 8 | p[at + 1];
		at += 2;
	}
	if (at + size > rest->n)
		return false;
	*ret_value = type == 7 ? (struct str){ rest->p + at, size } : STR("");
	*rest = (struct str){ rest->p + at + size, rest->n - at - size };
	*ret_bad = false;
	return true;
}

int event_stream_feed(struct event_stream *s, const char *p, size_t n, struct err *err)
{
	struct str rest = { p, n };

	if (s->bytes.n) {
		buf_add(&s->bytes, p, n);
		rest = buf_str(&s->bytes);
	}
	while (rest.n >= PRELUDE) {
		const char *frame = rest.p;
		uint32_t total = be32(frame), header_bytes = be32(frame + 4);
		if (checksum(frame, 8) != be32(frame + 8))
			return err_set(err, ERR_PARSE, "the beginning of a frame does not have its checksum");
		if (total > LARGEST_FRAME || header_bytes > LARGEST_HEADERS || total < PRELUDE + TRAILER + header_bytes)
			return err_set(err, ERR_PARSE, "a frame has an impossible size");
		if (rest.n < total)
			break;
		if (checksum(frame, total - TRAILER) != be32(frame + total - TRAILER))
			return err_set(err, ERR_PARSE, "a frame does not have its checksum");
		struct str headers = { frame + PRELUDE, header_bytes };
		struct str payload = { frame + PRELUDE + header_bytes, total - PRELUDE - TRAILER - header_bytes };
		struct str name, value, kind = STR("event");
		char exception[64] = "";
		bool bad = false;
		while (next_header(&headers, &name, &value, &bad)) {
			if (str_is(name, ":message-type"))
				kind = value;
			else if (str_is(name, ":exception-type") || str_is(name, ":error-code"))
				snprintf(exception, sizeof exception, STR_FMT, STR_ARG(value));
			else if (str_is(name, ":error-message") && !payload.n)
				payload = value;
		}
		if (bad)
			return err_set(err, ERR_PARSE, "a frame has a damaged header");
		if (!str_is(kind, "event") && !exception[0])
			snprintf(exception, sizeof exception, "error");
		s->on_frame(s->data, str_is(kind, "event") ? NULL : exception, payload);
		rest = (struct str){ rest.p + total, rest.n - total };
	}
	if (s->bytes.n)
		buf_drop(&s->bytes, s->bytes.n - rest.n);
	else if (rest.n)
		buf_append(&s->bytes, rest);
	return 0;
}
