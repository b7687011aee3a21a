/* SPDX-License-Identifier: MIT
 * http_endpoint.c - see http_endpoint.h. */
#include "core/model/http_endpoint.h"
#include "core/credential/sigv4.h"
#include "core/model/catalog.h"
#include "lib/io/url.h"

enum { MOST_LESSONS = 6 }; /* of one request */

static void add_header(struct http_endpoint *p, const char *line)
{
	if (p->header_count + 1 >= p->header_cap) {
		p->header_cap = p->header_cap ? p->header_cap * 2 : 16;
		p->headers = xrealloc(p->headers, p->header_cap * sizeof *p->headers);
	}
	p->headers[p->header_count++] = line;
	p->headers[p->header_count] = NULL;
}

/* A header that the client would drop or the server misread is refused before the first request. */
static int add_extra_headers(struct http_endpoint *p, const char *lines, struct err *err)
{
	static const char framing[] = "content-length|transfer-encoding|connection|te|trailer|upgrade";
	struct str all = str_from(lines);

	for (unsigned number = 1; all.p; number++) {
		struct str line = str_trim(str_cut(&all, '\n')), rest = line;
		struct str name = str_trim(str_cut(&rest, ':'));
		const char *why = !rest.p                                  ? "it has no colon"
				  : !name.n || memchr(name.p, ' ', name.n) ? "its name is invalid"
				  : str_is_one_of_nocase(name, framing)    ? "it is set with each request"
									   : NULL;
		if (!line.n)
			continue;
		for (size_t i = 0; i < line.n && !why; i++) {
			unsigned char c = (unsigned char)line.p[i];
			if ((c < ' ' && c != '\t') || c == 0x7f)
				why = "it has a control character";
			else if (c >= 0xc4)
				why = "it has a character above U+00FF";
		}
		if (why)
			return err_set(err, ERR_USAGE, "line %u of %s%s is not a header: %s", number,
				       p->endpoint.provider->own ? "the headers of providers."
								 : p->endpoint.provider->env.headers,
				       p->endpoint.provider->own ? p->endpoint.provider->name : "", why);
		add_header(p, arena_str(&p->arena, line).p);
	}
	return 0;
}

/* USER:PASSWORD@ is for the server only. */
static const char *without_login(struct arena *a, struct str url)
{
	const char *host = memmem(url.p, url.n, "://", 3);
	size_t from = host ? (size_t)(host + 3 - url.p) : 0;
	struct str rest = str_tail(url, from), authority = str_cut(&rest, '/');
	const char *at = authority.n ? memrchr(authority.p, '@', authority.n) : NULL;

	if (!at)
		return arena_str(a, url).p;
	return arena_printf(a, STR_FMT STR_FMT, (int)from, url.p, (int)(url.p + url.n - at - 1), at + 1);
}

int http_endpoint_open(const struct provider *provider, const struct endpoint_options *o, const struct http_address *at,
		       struct endpoint **ret_endpoint, struct err *err)
{
	static const char *const no_headers[] = { NULL };
	struct http_endpoint *p = xcalloc(1, sizeof *p);
	struct str query = str_from(at->base);
	struct str base = str_cut(&query, '?'); /* Azure has ?api-version= in its base */

	p->endpoint.provider = provider;
	p->endpoint.credential = at->credential;
	if (!at->credential)
		p->endpoint.credential = credential_new(
			CREDENTIAL_HEADERS, &(struct credential_options){ .loop = o->loop, .headers = no_headers });
	p->variables = o->variables;
	p->region = at->region ? arena_strdup(&p->arena, at->region) : NULL;
	p->prefix = at->prefix ? arena_strdup(&p->arena, at->prefix) : NULL;
	p->project = at->project ? arena_strdup(&p->arena, at->project) : NULL;
	const struct providers *env = &(struct providers){ .variables = o->variables };
	if (o->betas && o->betas[0] && !providers_env_is_on(env, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"))
		p->betas = arena_strdup(&p->arena, o->betas);
	p->any_type = providers_env_is_on(env, "CLAUDE_CODE_DISABLE_BEDROCK_CONTENT_TYPE_GUARD");
	p->has_key = at->credential != NULL;
	p->quirks = at->quirks | (provider->wire->quirks_at ? provider->wire->quirks_at(at->base) : 0);
	p->endpoint.most = at->most;
	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	struct str path = str_from(provider->wire->path);
	if (path.n && str_ends(base, path)) /* the whole address was given */
		base.n -= path.n;
	p->base = arena_str(&p->arena, base).p;
	p->shown = without_login(&p->arena, base);
	p->query = query.p ? arena_str(&p->arena, query).p : NULL;
	p->stall_ms = o->stall_ms ? o->stall_ms : url_is_loopback(p->shown) ? LOCAL_STALL_MS : USUAL_STALL_MS;
	const char *extra = variables_get(&o->variables, "CLAUDE_CODE_EXTRA_BODY");
	bool bad_extra = extra && (json_parse(&p->extra_reader, arena_strdup(&p->arena, extra), strlen(extra),
					      &p->extra_body, NULL) < 0 ||
				   !json_is(p->extra_body, JSON_OBJECT));
	if (bad_extra)
		(void)err_set(err, ERR_USAGE, "CLAUDE_CODE_EXTRA_BODY is not a JSON object: %.80s", extra);
	add_header(p, "content-type: application/json");
	add_header(p, "accept: text/event-stream");
	if (!bad_extra && (!o->extra_headers || add_extra_headers(p, o->extra_headers, err) == 0))
		p->client = http_new(
			o->loop,
			&(struct http_options){ .user_agent = "cadre/" CADRE_VERSION,
						.client_cert = variables_get(&o->variables, "CLAUDE_CODE_CLIENT_CERT"),
						.client_key = variables_get(&o->variables, "CLAUDE_CODE_CLIENT_KEY"),
						.client_key_password = variables_get(
							&o->variables, "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE") });
	if (at->header)
		add_header(p, arena_strdup(&p->arena, at->header));
	if (!p->client) {
		credential_free(p->endpoint.credential);
		http_endpoint_close(&p->endpoint);
		return -(int)err->kind;
	}
	if (at->extra_body)
		p->extra_body = at->extra_body;
	*ret_endpoint = &p->endpoint;
	return 0;
}

void http_endpoint_close(struct endpoint *e)
{
	struct http_endpoint *p = CONTAINER_OF(e, struct http_endpoint, endpoint);

	window_ask_cancel(p);
	http_free(p->client);
	free(p->headers);
	map_release(&p->learned);
	json_reader_release(&p->extra_reader);
	arena_release(&p->arena);
	free(p);
}

/* What the settings or the catalog say that the model does not take */
static void note_abilities(const struct http_endpoint *p, const char *model, struct model_quirks *quirks)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct provider *provider = p->endpoint.provider;

	if (!p->endpoint.of)
		return;
	struct model_info m = model_find(&p->endpoint.of->providers, arena_printf(&a, "%s/%s", provider->name, model));
	const char *const names[] = { m.images < 0 ? "noImages" : "", m.pdf < 0 ? "noDocuments" : "",
				      !m.reasoning_field                        ? ""
				      : !strcmp(m.reasoning_field, "reasoning") ? "echoReasoning"
										: "echo" };
	for (const struct wire_quirk *q = provider->wire->quirks; q && q->name; q++)
		for (size_t i = 0; i < COUNT_OF(names); i++)
			quirks->bits |= strcmp(q->name, names[i]) ? 0 : q->bit;
	if (m.tools < 0)
		quirks->no_tools = json_is(provider_model(provider, model, "tools"), JSON_FALSE) ? "by the settings"
												 : "by the catalog";
}

struct model_quirks *http_endpoint_quirks(struct http_endpoint *p, const char *model)
{
	struct model_quirks *known = map_get(&p->learned, str_from(model));

	if (!known) {
		known = arena_calloc(&p->arena, sizeof *known);
		known->bits = p->quirks;
		if (p->endpoint.provider->wire->model_at)
			p->endpoint.provider->wire->model_at(p, model, known);
		note_abilities(p, model, known);
		if (p->endpoint.provider->own)
			provider_own_quirks(p->endpoint.provider, model, known);
		known->name = arena_strdup(&p->arena, model);
		(void)map_set(&p->learned, str_from(known->name), known);
	}
	return known;
}

int http_endpoint_check(const struct provider *p, const struct endpoint_options *o, struct err *err)
{
	const char *url = o->base_url, *host = url ? strstr(url, "://") : NULL;

	if (o->api_key && strpbrk(o->api_key, "\r\n"))
		return err_set(err, ERR_USAGE, "%s has a line end in it",
			       p->env.api_key ? p->env.api_key : "the API key");
	if (o->auth_token && strpbrk(o->auth_token, "\r\n"))
		return err_set(err, ERR_USAGE, "%s has a line end in it",
			       p->env.auth_token ? p->env.auth_token : "the token");
	if (!url || ((str_starts(str_from(url), STR("http://")) || str_starts(str_from(url), STR("https://"))) &&
		     host[3] && host[3] != '/' && !strpbrk(url, " \t\r\n")))
		return 0;
	return err_set(err, ERR_USAGE, "%s is not an address (http://... or https://...): %s", p->env.base_url, url);
}

static void http_call_send(struct http_call *c);

static void http_call_free(struct http_call *c)
{
	c->wire->release(c);
	timer_stop(c->server->endpoint.loop, &c->timer);
	buf_release(&c->list);
	arena_release(&c->arena);
	free(c);
}

void http_call_finish(struct http_call *c, enum failure_kind kind, const char *text)
{
	struct model_call *call = c->call;
	char copy[256];

	snprintf(copy, sizeof copy, "%s", text);
	if (c->wire->finish)
		c->wire->finish(c, kind == FAIL_NONE);
	http_call_free(c);
	model_call_finish(call, kind, copy);
}

/* An end that comes before the transfer is reported from the loop, as every other one. */
static void on_timer(struct timer *timer)
{
	struct http_call *c = CONTAINER_OF(timer, struct http_call, timer);

	http_call_finish(c, c->ending_kind, c->ending);
}

static void http_call_finish_later(struct http_call *c, enum failure_kind kind, const char *text)
{
	c->ending_kind = kind;
	c->ending = arena_strdup(&c->arena, text);
	timer_start(c->server->endpoint.loop, &c->timer, 0);
}

static void on_ready(struct credential_wait *wait, const struct err *why)
{
	struct http_call *c = CONTAINER_OF(wait, struct http_call, wait);

	if (why)
		http_call_finish_later(c, FAIL_CREDENTIAL, why->text);
	else
		http_call_send(c);
}

static void on_line(struct credential_wait *wait, struct str line)
{
	struct model_call *call = CONTAINER_OF(wait, struct http_call, wait)->call;

	if (call->on_note)
		call->on_note(call, line);
}

/* The first member of a head is its model (head_json.c). */
static struct http_call *http_call_new(struct http_endpoint *p, struct model_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct str key = STR("{\"model\":");
	struct str head = call->body.head->bytes;
	const char *end = memmem(head.p, head.n, ",\"max_tokens\":", 14);
	const struct json *value = NULL;
	const char *model = NULL;

	if (end && str_starts(head, key) &&
	    json_parse(&reader, head.p + key.n, (size_t)(end - head.p) - key.n, &value, NULL) == 0)
		model = json_cstr(value, &a);
	struct model_quirks *quirks = http_endpoint_quirks(p, model ? model : "");
	const struct wire *wire = quirks->wire ? quirks->wire : p->endpoint.provider->wire;
	struct http_call *c = xcalloc(1, wire->call_size);
	c->wire = wire;
	c->server = p;
	c->call = call;
	c->quirks = quirks;
	c->timer.fire = on_timer;
	c->wait.on_ready = on_ready;
	c->wait.on_line = on_line;
	c->model = c->name = arena_strdup(&c->arena, model ? model : "");
	if (p->endpoint.provider->model_name)
		c->name = p->endpoint.provider->model_name(p, c->model, &c->arena);
	c->url =
		arena_printf(&c->arena, "%s%s%s%s", p->base, wire->path, p->query ? "?" : "", p->query ? p->query : "");
	call->transfer = c;
	call->answer.origin = ORIGIN_NONE;
	call->explain = http_explain;
	call->quirks = quirks;
	if (p->extra_body && p->extra_body->count) {
		struct str extra = json_raw(p->extra_body);
		c->extra = str_from(arena_printf(&c->arena, "," STR_FMT, (int)extra.n - 1, extra.p + 1));
	}
	wire->begin(c);
	return c;
}

static void http_call_go(struct http_call *c)
{
	struct credential *credential = c->server->endpoint.credential;

	if (credential_ready(credential))
		http_call_send(c);
	else
		credential_want(credential, &c->wait);
}

/* The default status of some frameworks for a POST is 201. */
static int usual_status(int status)
{
	return status == 201 ? 200 : status;
}

static void on_head(struct http_req *r, int status)
{
	((struct model_call *)http_data(r))->status = usual_status(status);
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct model_call *call = http_data(r);

	call->status = usual_status(http_status(r)); /* some headers count with a refusal only */
	model_call_header(call, name, value);
	if (call->status == 200 && str_is_nocase(name, "content-type")) { /* names what came in place of a stream */
		struct str type = str_trim(str_cut(&value, ';'));
		snprintf(call->error_type, sizeof call->error_type, STR_FMT, STR_ARG(type));
	}
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct model_call *call = http_data(r);
	struct http_call *c = call->transfer;

	if (call->status == 200)
		return c->wire->feed(c, p, n);
	if (call->error_body.n < LARGEST_ERROR_BODY)
		buf_add(&call->error_body, p, n);
	return true;
}

static enum failure_kind failure_of(enum http_error error)
{
	static const enum failure_kind kinds[] = {
		[HTTP_OK] = FAIL_NONE,
		[HTTP_REFUSED] = FAIL_CONNECT,
		[HTTP_RESOLVE] = FAIL_CONNECT,
		[HTTP_TLS] = FAIL_TLS,
		[HTTP_RESET] = FAIL_CUT,
		[HTTP_STALLED] = FAIL_STALL,
		[HTTP_TOO_LARGE] = FAIL_TOO_LARGE,
		[HTTP_DENIED] = FAIL_CONNECT,
		[HTTP_CANCELLED] = FAIL_CANCELLED,
		[HTTP_OTHER] = FAIL_CONNECT,
	};

	return kinds[error];
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct model_call *call = http_data(r);
	struct http_call *c = call->transfer;
	struct credential *credential = c->server->endpoint.credential;
	bool refused = error == HTTP_OK && !call->cancelled && call->status != 200;

	c->transfer = NULL;
	if (call->status == 200)
		credential_accepted(credential);
	if (refused)
		failure_drop_echo(&call->error_body);
	/* A signature with a wrong time is made again with that of the server. */
	bool skewed = refused && c->refusals < 2 && call->status == 403 &&
		      str_has(buf_str(&call->error_body), STR("ignature")) &&
		      credential_note_time(credential, call->server_ms);
	bool renewed = !skewed && refused && http_is_expired(call) && credential_refused(credential, c->generation);
	if ((skewed || renewed) && c->refusals++ < 2) {
		buf_clear(&call->error_body);
		call->status = 0;
		c->offset = 0;
		c->wire->rewind(c);
		credential_want(credential, &c->wait);
		return;
	}
	if (refused && c->wire->learn && c->lessons++ < MOST_LESSONS && c->wire->learn(c)) {
		struct http_call *next = http_call_new(c->server, call); /* perhaps on another wire */
		next->lessons = c->lessons;
		next->refusals = c->refusals;
		http_call_free(c);
		buf_clear(&call->error_body);
		call->status = 0;
		http_call_go(next);
		return;
	}
	if (refused && model_names_ask(c))
		return;
	/* We ended it because it is not an event stream: that is not a cancel. */
	bool ended_by_us = error == HTTP_CANCELLED && call->status == 200 && !call->is_stream && !call->cancelled;
	http_call_finish(c, ended_by_us ? FAIL_GARBAGE : failure_of(error), text);
}

/* Every body is an object: its extra members stand in front of its last bracket. */
static size_t read_body(void *data, char *out, size_t room)
{
	struct http_call *c = data;
	uint64_t own = c->size - (c->extra.n ? 1 : 0);
	size_t n;

	if (c->offset < own) {
		n = c->wire->read(c, out, (size_t)MIN((uint64_t)room, own - c->offset));
	} else {
		n = MIN(room, c->extra.n - (size_t)(c->offset - own));
		if (n)
			memcpy(out, c->extra.p + (c->offset - own), n);
	}
	c->offset += n;
	return n;
}

static void rewind_body(void *data)
{
	struct http_call *c = data;

	c->offset = 0;
	c->wire->rewind(c);
}

/* The hash of what all requests with one head begin with, kept with the head: it is most of a short conversation. */
struct head_hash {
	SHA256_CTX state;
	size_t n;
	char beginning[]; /* that the provider puts in front of the head */
};

static void body_hash(struct http_call *c, char hex[SHA256_HEX + 1])
{
	struct head *head = c->call->body.head;
	struct head_hash *kept = head->hash;
	bool known = kept && str_eq(c->beginning, (struct str){ kept->beginning, kept->n });
	SHA256_CTX state;
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char bytes[16 << 10];

	(void)SHA256_Init(&state);
	while (true) {
		size_t most = c->offset < c->fixed ? MIN(sizeof bytes, c->fixed - c->offset) : sizeof bytes;
		size_t n = read_body(c, bytes, most);
		if (!n)
			break;
		if (!known || c->offset > c->fixed)
			(void)SHA256_Update(&state, bytes, n);
		else
			state = kept->state;
		if (known || c->offset != c->fixed)
			continue;
		head->hash = kept = xrealloc(kept, sizeof *kept + c->beginning.n);
		*kept = (struct head_hash){ state, c->beginning.n };
		memcpy(kept->beginning, c->beginning.n ? c->beginning.p : "", c->beginning.n);
	}
	(void)SHA256_Final(digest, &state);
	rewind_body(c);
	hex_encode(digest, sizeof digest, hex);
}

static void http_call_send(struct http_call *c)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	struct http_endpoint *p = c->server;
	struct model_call *call = c->call;
	AUTO_ARENA struct arena a = { 0 }; /* the transfer copies them, and is what a waiting request holds */
	size_t n = p->header_count;
	char hash[SHA256_HEX + 1];
	const char **headers = arena_alloc(&a, (n + CREDENTIAL_MOST_HEADERS + WIRE_MOST_HEADERS + 4) * sizeof *headers);
	struct credential_request request = {
		.method = "POST", .url = c->url, .headers = p->headers, .region = c->region
	};
	struct err err = { 0 };

	memcpy(headers, p->headers, n * sizeof *headers);
	if (credential_needs_hash(p->endpoint.credential)) {
		body_hash(c, hash);
		request.body_hash = (struct str){ hash, SHA256_HEX };
	}
	credential_sign(p->endpoint.credential, &request, &a, headers + n, &c->generation);
	n += str_count(headers + n);
	for (size_t i = 0; c->own_headers[i]; i++)
		headers[n++] = c->own_headers[i];
	if (call->agent[0])
		headers[n++] = arena_printf(&a, "x-cadre-agent: %s", call->agent);
	if (call->parent_agent && call->agent[0])
		headers[n++] = arena_printf(&a, "x-claude-code-agent-id: %s", call->agent);
	if (call->parent_agent && call->parent_agent[0])
		headers[n++] = arena_printf(&a, "x-claude-code-parent-agent-id: %s", call->parent_agent);
	headers[n] = NULL;
	if (!call->shard)
		call->shard = http_pick_shard(p->client);
	struct http_request outgoing = {
		.method = "POST",
		.url = c->url,
		.headers = headers,
		.body = { c->size + (c->extra.n ? c->extra.n - 1 : 0), read_body, rewind_body },
		.body_data = c,
		.shard = call->shard,
		.stall_ms = p->stall_ms,
		.limit_bytes = LARGEST_ANSWER,
	};
	if (http_start(p->client, &outgoing, &handlers, call, &c->transfer, &err) < 0)
		http_call_finish_later(c, FAIL_CONNECT, err.text);
}

int http_endpoint_start(struct endpoint *e, struct model_call *call, struct err *err)
{
	struct http_call *c = http_call_new(CONTAINER_OF(e, struct http_endpoint, endpoint), call);

	if (c->quirks->no_tools && str_has(call->body.head->bytes, STR(",\"tools\":["))) {
		http_call_finish_later(
			c, FAIL_NOT_ADMITTED,
			arena_printf(
				&c->arena,
				"%s cannot call tools (%s): take a model that can, or run without tools (--tools \"\")",
				c->model, c->quirks->no_tools));
		return 0;
	}
	window_ask_start(c->server, c->model, c->quirks);
	http_call_go(c);
	return 0;
}

void http_endpoint_cancel(struct model_call *call)
{
	struct http_call *c = call->transfer;

	call->cancelled = true;
	if (c->transfer) {
		http_cancel(c->transfer);
		return;
	}
	credential_cancel(c->server->endpoint.credential, &c->wait);
	http_call_finish_later(c, FAIL_CANCELLED, "cancelled");
}

void http_endpoint_pause(struct model_call *call, bool on)
{
	struct http_call *c = call->transfer;

	if (c->transfer)
		http_pause(c->transfer, on);
}
