/* SPDX-License-Identifier: MIT
 * provider_anthropic.c - the Messages API over HTTP. */
#include "base/arena.h"
#include "model/provider.h"

static int open_endpoint(const struct endpoint_options *o, struct endpoint **ret_endpoint, struct err *err);
static void close_endpoint(struct endpoint *e);
static int start(struct endpoint *e, struct model_call *call, struct err *err);
static void cancel(struct model_call *call);
static void pause_call(struct model_call *call, bool on);

extern const struct provider provider_anthropic;
const struct provider provider_anthropic = {
	.name = "anthropic",
	.summary = "the Messages API at ANTHROPIC_BASE_URL",
	.open = open_endpoint,
	.close = close_endpoint,
	.start = start,
	.cancel = cancel,
	.pause = pause_call,
};

enum { MOST_HEADERS = 32, LARGEST_ANSWER = 64 << 20, LARGEST_ERROR_BODY = 64 << 10 };

struct anthropic {
	struct endpoint endpoint;
	struct http *http;
	struct arena arena;
	const char *url;
	const char *headers[MOST_HEADERS]; /* the same for each request; NULL-terminated */
	size_t header_count;
	uint64_t stall_ms;
};

static void add_header(struct anthropic *a, const char *line)
{
	if (a->header_count < MOST_HEADERS - 4) /* two more per request, and the end */
		a->headers[a->header_count++] = line;
}

static void add_extra_headers(struct anthropic *a, const char *lines)
{
	struct str rest = str_from(lines);

	while (rest.p) {
		struct str line = str_trim(str_cut(&rest, '\n'));
		if (line.n)
			add_header(a, arena_str(&a->arena, line).p);
	}
}

static bool is_http_url(const char *url)
{
	struct str s = str_from(url);
	const char *host = strstr(url, "://");

	if (!str_starts(s, STR("http://")) && !str_starts(s, STR("https://")))
		return false;
	return host[3] && host[3] != '/' && !strpbrk(url, " \t\r\n");
}

static bool has_line_end(const char *text)
{
	return text && strpbrk(text, "\r\n");
}

/* What no try could mend is told before the first one. */
static int check_options(const struct endpoint_options *o, struct err *err)
{
	if (!o->api_key && !o->auth_token)
		return err_set(err, ERR_USAGE,
			       "no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN (looked at both; "
			       "--provider scripted runs the built-in demo model instead)");
	if (has_line_end(o->api_key) || has_line_end(o->auth_token))
		return err_set(err, ERR_USAGE, "%s has a line end in it",
			       has_line_end(o->api_key) ? "ANTHROPIC_API_KEY" : "ANTHROPIC_AUTH_TOKEN");
	if (o->base_url && !is_http_url(o->base_url))
		return err_set(err, ERR_USAGE, "ANTHROPIC_BASE_URL is not an address (http://... or https://...): %s",
			       o->base_url);
	return 0;
}

static int open_endpoint(const struct endpoint_options *o, struct endpoint **ret_endpoint, struct err *err)
{
	if (check_options(o, err) < 0)
		return -(int)err->kind;

	struct anthropic *a = xcalloc(1, sizeof *a);
	a->endpoint.provider = &provider_anthropic;
	a->http = http_new(o->loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION }, err);
	if (!a->http) {
		free(a);
		return -(int)err->kind;
	}
	struct str base = str_from(o->base_url ? o->base_url : "https://api.anthropic.com");
	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	a->url = arena_printf(&a->arena, STR_FMT "/v1/messages", STR_ARG(base));
	a->stall_ms = o->stall_ms;
	add_header(a, "content-type: application/json");
	add_header(a, "accept: text/event-stream");
	add_header(a, "anthropic-version: 2023-06-01");
	if (o->api_key)
		add_header(a, arena_printf(&a->arena, "x-api-key: %s", o->api_key));
	if (o->auth_token)
		add_header(a, arena_printf(&a->arena, "authorization: Bearer %s", o->auth_token));
	if (o->betas && o->betas[0])
		add_header(a, arena_printf(&a->arena, "anthropic-beta: %s", o->betas));
	if (o->extra_headers)
		add_extra_headers(a, o->extra_headers);
	*ret_endpoint = &a->endpoint;
	return 0;
}

static void close_endpoint(struct endpoint *e)
{
	struct anthropic *a = CONTAINER_OF(e, struct anthropic, endpoint);

	http_free(a->http);
	arena_release(&a->arena);
	free(a);
}

static size_t read_body(void *data, char *out, size_t room)
{
	return body_read(&((struct model_call *)data)->body, out, room);
}

static void rewind_body(void *data)
{
	body_rewind(&((struct model_call *)data)->body);
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	model_call_header(http_data(r), name, value);
}

static void on_head(struct http_req *r, int status)
{
	struct model_call *call = http_data(r);

	call->status = status;
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct model_call *call = http_data(r);

	if (call->status != 200) {
		if (call->error_body.n < LARGEST_ERROR_BODY)
			buf_add(&call->error_body, p, n);
		return true;
	}
	if (!call->is_stream)
		return false;
	answer_feed(&call->answer, p, n);
	return !call->answer.failure.kind;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	static const enum failure_kind kinds[] = {
		[HTTP_OK] = FAIL_NONE,
		[HTTP_REFUSED] = FAIL_CONNECT,
		[HTTP_RESOLVE] = FAIL_CONNECT,
		[HTTP_TLS] = FAIL_TLS,
		[HTTP_RESET] = FAIL_CUT,
		[HTTP_STALLED] = FAIL_STALL,
		[HTTP_TOO_LARGE] = FAIL_TOO_LARGE,
		[HTTP_CANCELLED] = FAIL_CANCELLED,
		[HTTP_OTHER] = FAIL_CONNECT,
	};
	struct model_call *call = http_data(r);
	/* We ended it ourselves because it is no event stream: that is not a cancel. */
	bool refused_by_us = error == HTTP_CANCELLED && call->status == 200 && !call->is_stream && !call->cancelled;

	model_call_finish(call, refused_by_us ? FAIL_GARBAGE : kinds[error], text);
}

static int start(struct endpoint *e, struct model_call *call, struct err *err)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	struct anthropic *a = CONTAINER_OF(e, struct anthropic, endpoint);
	const char *headers[MOST_HEADERS];
	char session[96], agent[160];
	size_t n = a->header_count;

	memcpy(headers, a->headers, n * sizeof *headers);
	snprintf(session, sizeof session, "x-claude-code-session-id: %s", call->session_id);
	headers[n++] = session;
	if (call->agent[0]) {
		snprintf(agent, sizeof agent, "x-cadre-agent: %s", call->agent);
		headers[n++] = agent;
	}
	headers[n] = NULL;

	struct http_req *transfer;
	struct http_request request = {
		.method = "POST",
		.url = a->url,
		.headers = headers,
		.body = { call->body.size, read_body, rewind_body },
		.body_data = call,
		.shard = call->shard,
		.stall_ms = a->stall_ms,
		.limit_bytes = LARGEST_ANSWER,
	};
	if (!call->shard)
		call->shard = request.shard = http_pick_shard(a->http);
	int status = http_start(a->http, &request, &handlers, call, &transfer, err);
	if (status == 0)
		call->transfer = transfer;
	return status;
}

static void cancel(struct model_call *call)
{
	call->cancelled = true;
	http_cancel(call->transfer);
}

static void pause_call(struct model_call *call, bool on)
{
	http_pause(call->transfer, on);
}
