/* SPDX-License-Identifier: MIT
 * messages.c - a request of the Messages API: wait for the credential, sign, send, read the events. */
#include "core/model/messages.h"
#include <openssl/evp.h>
#include <zlib.h>
#include "core/credential/sigv4.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

enum { MOST_OWN_HEADERS = CREDENTIAL_MOST_HEADERS + 2 };

/* One request under way */
struct messages_call {
	struct messages_endpoint *server;
	struct model_call *call;
	struct arena arena;
	struct credential_wait wait;
	struct http_req *transfer; /* NULL: it waits for the credential */
	struct timer timer;        /* reports an end that came before the transfer */
	const char *ending;        /* what it reports */
	enum failure_kind ending_kind;
	const char *url;
	struct str beginning; /* instead of the first `skip` bytes of the body */
	size_t skip, offset;
	unsigned generation, refusals;
	struct event_stream frames;
};

static int send_request(struct messages_call *m, struct err *err);

/* ---- the endpoint ---------------------------------------------------------------------------------------------- */

int messages_open(const struct provider *provider, const struct messages_kind *kind, const struct endpoint_options *o,
		  const char *base, const char *path, struct credential *credential,
		  struct messages_endpoint **ret_endpoint, struct err *err)
{
	struct messages_endpoint *p = xcalloc(1, sizeof *p);

	p->endpoint.provider = provider;
	p->endpoint.credential = credential;
	p->kind = kind;
	p->variables = o->variables;
	if (http_endpoint_open(&p->http, o, base, path, err) < 0) {
		credential_free(credential);
		free(p);
		return -(int)err->kind;
	}
	if (o->betas && o->betas[0])
		p->betas = arena_strdup(&p->http.arena, o->betas);
	if (!kind->version)
		http_endpoint_header(&p->http, "anthropic-version", "2023-06-01");
	if (p->betas && !kind->frames)
		http_endpoint_header(&p->http, "anthropic-beta", p->betas);
	*ret_endpoint = p;
	return 0;
}

void messages_close(struct endpoint *e)
{
	struct messages_endpoint *p = CONTAINER_OF(e, struct messages_endpoint, endpoint);

	http_endpoint_close(&p->http);
	free(p);
}

/* ---- the body -------------------------------------------------------------------------------------------------- */

static size_t read_body(void *data, char *out, size_t room)
{
	struct messages_call *m = data;
	size_t n = m->offset < m->beginning.n ? MIN(room, m->beginning.n - m->offset) : 0;
	char skipped[1024];

	if (n) {
		memcpy(out, m->beginning.p + m->offset, n);
		m->offset += n;
		return n;
	}
	for (; m->offset < m->beginning.n + m->skip; m->offset += n)
		n = body_read(&m->call->body, skipped, MIN(sizeof skipped, m->beginning.n + m->skip - m->offset));
	return body_read(&m->call->body, out, room);
}

static void rewind_body(void *data)
{
	struct messages_call *m = data;

	m->offset = 0;
	body_rewind(&m->call->body);
}

/* A head begins with model, max_tokens and stream (head_json.c). A cloud wants other members in their place. */
static void rewrite_beginning(struct messages_call *m)
{
	const struct messages_kind *kind = m->server->kind;
	struct str head = m->call->body.head->bytes;
	const struct str model_key = STR("{\"model\":"), stream = STR("\"stream\":true");
	const char *limit = memmem(head.p, head.n, "\"max_tokens\":", 13);
	const char *end = memmem(head.p, head.n, stream.p, stream.n);
	AUTO_BUF struct buf out = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value = NULL;

	if ((!kind->name && !kind->url && !kind->version) || !limit || !end || !str_starts(head, model_key))
		return;
	(void)json_parse(&reader, head.p + model_key.n, (size_t)(limit - head.p) - model_key.n - 1, &value, NULL);
	const char *model = json_cstr(value, &m->arena);
	const char *name = kind->name && model ? kind->name(m->server, model, &m->arena) : model;
	if (kind->url)
		m->url = kind->url(m->server, name ? name : "", &m->arena);
	struct json_out w = json_out(&out);
	json_open(&w, '{');
	if (kind->version)
		json_kcstr(&w, "anthropic_version", kind->version);
	else
		json_kcstr(&w, "model", name);
	struct str betas = kind->frames && m->server->betas ? str_from(m->server->betas) : (struct str){ 0 };
	if (betas.p) {
		json_kopen(&w, "anthropic_beta", '[');
		while (betas.p)
			json_put_str(&w, str_trim(str_cut(&betas, ',')));
		json_close(&w);
	}
	buf_addf(&out, ",%.*s", (int)(end - limit) - 1, limit);
	if (!kind->no_stream)
		buf_addstr(&out, ",\"stream\":true");
	m->beginning = arena_str(&m->arena, buf_str(&out));
	m->skip = (size_t)(end - head.p) + stream.n;
}

static struct str body_hash(struct messages_call *m)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char digest[32];
	char bytes[16 << 10];
	size_t n;

	(void)EVP_DigestInit_ex(context, EVP_sha256(), NULL);
	while ((n = read_body(m, bytes, sizeof bytes)))
		(void)EVP_DigestUpdate(context, bytes, n);
	(void)EVP_DigestFinal_ex(context, digest, NULL);
	EVP_MD_CTX_free(context);
	rewind_body(m);
	char *hex = arena_alloc(&m->arena, SHA256_HEX + 1);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return (struct str){ hex, SHA256_HEX };
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* {"bytes":"base64 of an event"}; frames without it are ignored. */
static void on_frame(void *data, const char *exception, struct str payload)
{
	struct messages_call *m = data;
	struct answer *answer = &m->call->answer;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf event = { 0 };
	const struct json *root = NULL;
	struct err err = { 0 };

	(void)json_parse(&reader, payload.p, payload.n, &root, NULL);
	if (exception) {
		struct str said = json_str(json_get(root, "message"), &a);
		failure_from_event(&answer->failure, str_from(exception), said.n ? said : STR("the stream was ended"));
		return;
	}
	struct str bytes = json_str(json_get(root, "bytes"), &a);
	if (!bytes.n)
		return;
	if (base64_decode(&event, bytes, &err) < 0)
		failure_set(&answer->failure, FAIL_GARBAGE, "the answer breaks the protocol: a frame is not base64");
	else
		answer_event(answer, buf_str(&event));
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct model_call *call = http_data(r);
	struct messages_call *m = call->transfer;
	struct err err = { 0 };

	if (call->status != 200) {
		if (call->error_body.n < LARGEST_ERROR_BODY)
			buf_add(&call->error_body, p, n);
		return true;
	}
	if (m->server->kind->frames) {
		if (!call->is_frames)
			return false;
		call->is_stream = true;
		if (event_stream_feed(&m->frames, p, n, &err) < 0)
			failure_set(&call->answer.failure, FAIL_CUT, "the answer is damaged: %s", err.text);
		return !call->answer.failure.kind;
	}
	if (!model_call_is_stream(call, p, n))
		return false;
	answer_feed(&call->answer, p, n);
	return !call->answer.failure.kind;
}

static void messages_call_free(struct messages_call *m)
{
	buf_release(&m->frames.bytes);
	arena_release(&m->arena);
	free(m);
}

static void messages_finish(struct messages_call *m, enum failure_kind kind, const char *text)
{
	struct model_call *call = m->call;
	char copy[256];

	snprintf(copy, sizeof copy, "%s", text);
	timer_stop(m->server->endpoint.loop, &m->timer);
	messages_call_free(m);
	model_call_finish(call, kind, copy);
}

static void on_ready(struct credential_wait *wait, const struct err *why);

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct model_call *call = http_data(r);
	struct messages_call *m = call->transfer;
	struct credential *credential = m->server->endpoint.credential;
	static const char *const words[] = { "expired",          "security token", "UnrecognizedClient",
					     "InvalidSignature", "ExpiredToken",   "SignatureDoesNotMatch" };
	/* We ended it because it is not an event stream: that is not a cancel. */
	bool refused_by_us = error == HTTP_CANCELLED && call->status == 200 && !call->is_stream && !call->cancelled;

	m->transfer = NULL;
	if (call->status == 200)
		credential_accepted(credential);
	/* 401, and 403 of clouds with such a text: the credential has expired. */
	bool expired = call->status == 401;
	for (size_t i = 0; call->status == 403 && i < COUNT_OF(words); i++)
		expired = expired || str_has(buf_str(&call->error_body), str_from(words[i]));
	if (error == HTTP_OK && !call->cancelled && expired && credential_refused(credential, m->generation) &&
	    m->refusals++ < 2) {
		buf_clear(&call->error_body);
		call->status = 0;
		rewind_body(m);
		m->wait.on_ready = on_ready;
		credential_want(credential, &m->wait);
		return;
	}
	messages_finish(m, refused_by_us ? FAIL_GARBAGE : http_endpoint_failure(error), text);
}

/* ---- the request ----------------------------------------------------------------------------------------------- */

static int send_request(struct messages_call *m, struct err *err)
{
	static const struct http_handlers handlers = { http_endpoint_on_head, http_endpoint_on_header, on_data,
						       on_done };
	struct messages_endpoint *p = m->server;
	const char *own[MOST_OWN_HEADERS + 1] = { arena_printf(&m->arena, "x-claude-code-session-id: %s",
							       m->call->session_id) };
	struct http_body body = { m->call->body.size - m->skip + m->beginning.n, read_body, rewind_body };
	struct credential_request request = { .method = "POST",
					      .url = m->url ? m->url : p->http.url,
					      .headers = p->http.headers };

	if (credential_needs_hash(p->endpoint.credential))
		request.body_hash = body_hash(m);
	credential_sign(p->endpoint.credential, &request, &m->arena, own + 1, &m->generation);
	return http_endpoint_post(&p->http, m->call, request.url, &body, own, &handlers, &m->transfer, err);
}

/* The report comes from the loop, as for every other end. */
static void on_timer(struct timer *timer)
{
	struct messages_call *m = CONTAINER_OF(timer, struct messages_call, timer);

	messages_finish(m, m->ending_kind, m->ending);
}

static void messages_finish_later(struct messages_call *m, enum failure_kind kind, const char *text)
{
	m->ending_kind = kind;
	m->ending = arena_strdup(&m->arena, text);
	timer_start(m->server->endpoint.loop, &m->timer, 0);
}

static void on_ready(struct credential_wait *wait, const struct err *why)
{
	struct messages_call *m = CONTAINER_OF(wait, struct messages_call, wait);
	struct err err = { 0 };

	if (why)
		messages_finish_later(m, FAIL_CREDENTIAL, why->text);
	else if (send_request(m, &err) < 0)
		messages_finish_later(m, FAIL_CONNECT, err.text);
}

int messages_start(struct endpoint *e, struct model_call *call, struct err *err)
{
	struct messages_call *m = xcalloc(1, sizeof *m);

	m->server = CONTAINER_OF(e, struct messages_endpoint, endpoint);
	m->call = call;
	m->timer.fire = on_timer;
	m->frames = (struct event_stream){ .on_frame = on_frame, .data = m };
	call->transfer = m;
	rewrite_beginning(m);
	if (!credential_ready(e->credential)) {
		m->wait.on_ready = on_ready;
		credential_want(e->credential, &m->wait);
		return 0;
	}
	if (send_request(m, err) < 0) {
		messages_call_free(m);
		call->transfer = NULL;
		return -(int)err->kind;
	}
	return 0;
}

void messages_cancel(struct model_call *call)
{
	struct messages_call *m = call->transfer;

	call->cancelled = true;
	if (m->transfer) {
		http_cancel(m->transfer);
		return;
	}
	credential_cancel(m->server->endpoint.credential, &m->wait);
	messages_finish_later(m, FAIL_CANCELLED, "cancelled");
}

void messages_pause(struct model_call *call, bool on)
{
	struct messages_call *m = call->transfer;

	if (m->transfer)
		http_pause(m->transfer, on);
}

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
