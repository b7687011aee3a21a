/* SPDX-License-Identifier: MIT
 * wire_messages.c - the wires of the Messages API: as it is, and as Bedrock (invoke: frames around the events) and Vertex (rawpredict) take it,
 * with another beginning of the body and the model in the address. */
#include "core/model/event_stream.h"
#include <zlib.h>
#include "core/credential/sigv4.h"
#include "core/model/http_endpoint.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

struct messages_call {
	struct http_call http;
	struct str beginning; /* instead of the first `skip` bytes of the body */
	size_t skip, offset;
	struct event_stream frames;
};

/* ---- the body -------------------------------------------------------------------------------------------------- */

static size_t messages_read(struct http_call *c, char *out, size_t room)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);
	size_t n = m->offset < m->beginning.n ? MIN(room, m->beginning.n - m->offset) : 0;
	char skipped[1024];

	if (n) {
		memcpy(out, m->beginning.p + m->offset, n);
		m->offset += n;
		return n;
	}
	for (; m->offset < m->beginning.n + m->skip; m->offset += n)
		n = body_read(&c->call->body, skipped, MIN(sizeof skipped, m->beginning.n + m->skip - m->offset));
	return body_read(&c->call->body, out, room);
}

static void messages_rewind(struct http_call *c)
{
	CONTAINER_OF(c, struct messages_call, http)->offset = 0;
	body_rewind(&c->call->body);
}

/* A head begins with model, max_tokens and stream (head_json.c). Another name or wire wants other members in their place. */
static void rewrite_beginning(struct messages_call *m, const char *version)
{
	const struct http_call *c = &m->http;
	struct str head = c->call->body.head->bytes;
	const struct str stream = STR("\"stream\":true");
	const char *limit = memmem(head.p, head.n, "\"max_tokens\":", 13);
	const char *end = memmem(head.p, head.n, stream.p, stream.n);
	struct str betas = c->wire == &wire_invoke && c->server->betas ? str_from(c->server->betas) : (struct str){ 0 };
	AUTO_BUF struct buf out = { 0 };

	if ((!version && c->name == c->model && !c->quirks->limit) || !limit || !end)
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
			json_put_str(&w, str_trim(str_cut(&betas, ',')));
		json_close(&w);
	}
	int64_t most = strtoll(limit + strlen("\"max_tokens\":"), NULL, 10);
	json_ki64(&w, "max_tokens", c->quirks->limit ? MIN(c->quirks->limit, most) : most);
	if (c->wire != &wire_invoke) /* its address says that it streams */
		buf_addstr(&out, ",\"stream\":true");
	m->beginning = arena_str(&m->http.arena, buf_str(&out));
	m->skip = (size_t)(end - head.p) + stream.n;
}

static void begin_request(struct http_call *c, const char *version)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);

	body_rewind(&c->call->body);
	rewrite_beginning(m, version);
	c->size = c->call->body.size - m->skip + m->beginning.n;
	const char **header = c->own_headers;
	*header++ = arena_printf(&c->arena, "x-claude-code-session-id: %s", c->call->session_id);
	if (!version)
		*header++ = "anthropic-version: 2023-06-01";
	if (c->server->betas && c->wire != &wire_invoke)
		*header = arena_printf(&c->arena, "anthropic-beta: %s", c->server->betas);
}

static void messages_begin(struct http_call *c)
{
	begin_request(c, NULL);
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

static bool messages_feed(struct http_call *c, const char *p, size_t n)
{
	if (!model_call_is_stream(c->call, p, n))
		return false;
	answer_feed(&c->call->answer, p, n);
	return !c->call->answer.failure.kind;
}

static void messages_release(struct http_call *c)
{
	buf_release(&CONTAINER_OF(c, struct messages_call, http)->frames.bytes);
}

const struct wire wire_messages = {
	.name = "messages",
	.path = "/v1/messages",
	.call_size = sizeof(struct messages_call),
	.begin = messages_begin,
	.read = messages_read,
	.rewind = messages_rewind,
	.feed = messages_feed,
	.release = messages_release,
};

/* ---- Vertex ---------------------------------------------------------------------------------------------------- */

/* VERTEX_REGION_CLAUDE_SONNET_4_5 names the region of claude-sonnet-4-5 and its dated versions. */
static void rawpredict_begin(struct http_call *c)
{
	const struct http_endpoint *p = c->server;
	char variable[96] = "VERTEX_REGION_";
	size_t n = strlen(variable);
	const char *base = p->base;

	for (const char *s = c->name; *s && *s != '@' && n < sizeof variable - 1; s++)
		variable[n++] = *s == '-' || *s == '.' ? '_' : *s >= 'a' && *s <= 'z' ? (char)(*s - 32) : *s;
	variable[n] = '\0';
	const char *region = variables_get(&p->variables, variable);
	if (!region)
		region = p->region;
	if (!base[0] && !strcmp(region, "global"))
		base = "https://aiplatform.googleapis.com/v1";
	else if (!base[0] && (!strcmp(region, "us") || !strcmp(region, "eu")))
		base = arena_printf(&c->arena, "https://aiplatform.%s.rep.googleapis.com/v1", region);
	else if (!base[0])
		base = arena_printf(&c->arena, "https://%s-aiplatform.googleapis.com/v1", region);
	c->url = arena_printf(&c->arena, "%s/projects/%s/locations/%s/publishers/anthropic/models/%s:streamRawPredict",
			      base, p->project, region, c->name);
	begin_request(c, "vertex-2023-10-16");
}

const struct wire wire_rawpredict = {
	.name = "rawpredict",
	.path = "",
	.call_size = sizeof(struct messages_call),
	.begin = rawpredict_begin,
	.read = messages_read,
	.rewind = messages_rewind,
	.feed = messages_feed,
	.release = messages_release,
};

/* ---- Bedrock --------------------------------------------------------------------------------------------------- */

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
		struct str said = json_str(json_get(root, "message"), &a);
		failure_from_event(&answer->failure, str_from(exception), said.n ? said : STR("the stream was ended"));
		return;
	}
	if (!bytes.n)
		return;
	if (base64_decode(&event, bytes, &err) < 0)
		failure_set(&answer->failure, FAIL_GARBAGE, "the answer breaks the protocol: a frame is not base64");
	else
		answer_event(answer, buf_str(&event));
}

static bool invoke_feed(struct http_call *c, const char *p, size_t n)
{
	struct model_call *call = c->call;
	struct err err = { 0 };

	call->is_stream = call->is_frames; /* a gateway may make another stream of it */
	if (!call->is_frames)
		return false;
	if (event_stream_feed(&CONTAINER_OF(c, struct messages_call, http)->frames, p, n, &err) < 0)
		failure_set(&call->answer.failure, FAIL_CUT, "the answer is damaged: %s", err.text);
	return !call->answer.failure.kind;
}

/* A slash of an ARN is part of the name and must be escaped. */
static void invoke_begin(struct http_call *c)
{
	struct messages_call *m = CONTAINER_OF(c, struct messages_call, http);
	AUTO_BUF struct buf url = { 0 };

	buf_addf(&url, "%s/model/", c->server->base);
	percent_encode(&url, str_from(c->name), ":");
	buf_addstr(&url, "/invoke-with-response-stream");
	c->url = arena_dup(&c->arena, url.p, url.n);
	m->frames = (struct event_stream){ .on_frame = on_frame, .data = c };
	begin_request(c, "bedrock-2023-05-31");
}

const struct wire wire_invoke = {
	.name = "invoke",
	.path = "",
	.call_size = sizeof(struct messages_call),
	.begin = invoke_begin,
	.read = messages_read,
	.rewind = messages_rewind,
	.feed = invoke_feed,
	.release = messages_release,
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
	size_t at = 0;

	buf_add(&s->bytes, p, n);
	while (s->bytes.n - at >= PRELUDE) {
		const char *frame = s->bytes.p + at;
		uint32_t total = be32(frame), header_bytes = be32(frame + 4);
		if (checksum(frame, 8) != be32(frame + 8))
			return err_set(err, ERR_PARSE, "the beginning of a frame does not have its checksum");
		if (total > LARGEST_FRAME || header_bytes > LARGEST_HEADERS || total < PRELUDE + TRAILER + header_bytes)
			return err_set(err, ERR_PARSE, "a frame has an impossible size");
		if (s->bytes.n - at < total)
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
		}
		if (bad)
			return err_set(err, ERR_PARSE, "a frame has a damaged header");
		if (!str_is(kind, "event") && !exception[0])
			snprintf(exception, sizeof exception, "error");
		s->on_frame(s->data, str_is(kind, "event") ? NULL : exception, payload);
		at += total;
	}
	memmove(s->bytes.p, s->bytes.p + at, s->bytes.n - at);
	s->bytes.n -= at;
	return 0;
}
