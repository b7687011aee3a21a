/* SPDX-License-Identifier: MIT
 * exchange.c - one message on its way over HTTP (remote.h has its states). Callbacks of the transfer record and kick;
 * only events are handed on at once, because they are borrowed. */
#include "mcp/transport/remote.h"
#include "lib/base/list.h"
#include "lib/base/utf8.h"
#include "lib/io/url.h"
#include "mcp/auth/oauth_http.h"

enum {
	FIRST_BYTE_MS = 60 * 1000,
	GOODBYE_MS = 2000,             /* limit for the end of a session */
	LINGER_MS = 5000,              /* limit for a stream after its answer */
	SILENCE_MS = 24 * 3600 * 1000, /* a stream may be silent for long; calls have their own timers */
	CHALLENGES_MOST = 3,
	MOVES_MOST = 3,
	REFUSAL_BYTES = 64 << 10, /* kept of a body that comes with an error */
	HEADER_BYTES = 4096,
	EXCERPT_BYTES = 120,
};

static void on_header(struct http_req *req, struct str name, struct str value)
{
	struct exchange *x = http_data(req);
	struct buf *to = str_is_nocase(name, "WWW-Authenticate") ? &x->challenge
			 : str_is_nocase(name, "Location")       ? &x->location
			 : str_is_nocase(name, "Mcp-Session-Id") ? &x->session_id
								 : NULL;

	if (str_is_nocase(name, "Content-Type")) {
		struct str type = str_cut(&value, ';');
		x->is_stream = str_is_nocase(str_trim(type), "text/event-stream");
	} else if (to && to->n + value.n < HEADER_BYTES) {
		buf_addstr(to, to->n ? ", " : "");
		buf_append(to, value);
	}
}

static void on_head(struct http_req *req, int status)
{
	struct exchange *x = http_data(req);

	x->status = status;
	if (x->is_stream)
		timer_stop(x->remote->core.t.env->loop, &x->timer);
	if (x->class->head && !x->dropped)
		x->class->head(x);
}

static int on_event(void *data, struct str name, struct str payload)
{
	struct exchange *x = data;

	x->has_events = true;
	if (x->class->event)
		x->class->event(x, name, payload);
	return x->dropped;
}

static bool on_data(struct http_req *req, const char *p, size_t n)
{
	struct exchange *x = http_data(req);
	struct err err = { 0 };

	if (x->dropped)
		return false;
	if (!x->is_stream)
		timer_start(x->remote->core.t.env->loop, &x->timer, x->first_byte_ms);
	if (x->is_stream && exchange_is_ok(x)) {
		if (!sse_feed(&x->sse, p, n, &err))
			return true;
	} else if (!exchange_is_ok(x)) {
		buf_add(&x->answer, p, MIN(n, REFUSAL_BYTES - x->answer.n));
		return true;
	} else if (x->answer.n + n <= MCP_MESSAGE_LIMIT) {
		buf_add(&x->answer, p, n);
		return true;
	}
	snprintf(x->text, sizeof x->text, "%s", err.kind ? err.text : "the answer has more than 64 MB");
	return false;
}

static void on_done(struct http_req *req, enum http_error error, const char *text)
{
	struct exchange *x = http_data(req);

	x->req = NULL;
	x->ended = true;
	x->error = error;
	if (!x->text[0])
		snprintf(x->text, sizeof x->text, "%s", text);
	loop_kick(x->remote->core.t.env->loop, &x->kick);
}

static void exchange_begin_transfer(struct exchange *x)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	const struct mcp_env *env = x->remote->core.t.env;
	AUTO_ARENA struct arena arena = { 0 };
	struct err err;

	x->ended = x->timed_out = x->is_stream = x->has_events = false;
	x->status = 0;
	x->error = HTTP_OK;
	x->text[0] = '\0';
	buf_clear(&x->answer);
	buf_clear(&x->challenge);
	buf_clear(&x->location);
	buf_clear(&x->session_id);
	x->sse = (struct sse){ .limit_bytes = MCP_MESSAGE_LIMIT, .event = on_event, .data = x };
	x->state = EXCHANGE_RUN;
	x->auth_round = x->remote->auth_round;
	x->started_ms = loop_now_ms(env->loop);
	struct http_request request = {
		.method = x->method,
		.url = x->url,
		.headers = remote_headers(x->remote, x, &arena),
		.text = buf_str(&x->body),
		.shard = x->remote->shard,
		.stall_ms = SILENCE_MS,
		.limit_bytes = UINT64_MAX,
	};
	if (http_start(env->http, &request, &handlers, x, &x->req, &err) < 0) {
		x->ended = true;
		x->error = HTTP_OTHER;
		snprintf(x->text, sizeof x->text, "%s", err.text);
		loop_kick(env->loop, &x->kick);
		return;
	}
	timer_start(env->loop, &x->timer, x->first_byte_ms);
}

/* Follows a redirect, on the same origin only: messages may contain secrets. */
static bool exchange_redirect(struct exchange *x)
{
	AUTO_ARENA struct arena arena = { 0 };

	if (!x->location.n || (x->status != 307 && x->status != 308 && x->status != 301 && x->status != 302) ||
	    x->moves++ >= MOVES_MOST)
		return false;
	const char *url = url_resolve(&arena, x->url, x->location.p);
	if (!url || !oauth_same_origin(x->url, url))
		return false;
	if (!strcmp(x->remote->url, x->url)) {
		free(x->remote->url);
		x->remote->url = xstrdup(url);
	}
	free(x->url);
	x->url = xstrdup(url);
	return true;
}

/* Starts authorisation if the server demands it. */
static bool exchange_authorise(struct exchange *x)
{
	if (x->status != 401 && !(x->status == 403 && str_has(buf_str(&x->challenge), STR("insufficient_scope"))))
		return false;
	if (x->challenges++ < CHALLENGES_MOST) {
		remote_challenge(x->remote, x);
		return true;
	}
	err_set(&x->denied, ERR_DENIED, "the server refused the message (HTTP %d)", x->status);
	return false;
}

static void exchange_prepare(struct exchange *x)
{
	struct remote *r = x->remote;

	x->state = EXCHANGE_PREPARE;
	if (!remote_lets_go(r, x))
		return;
	if (x->challenges && r->auth_error.kind) {
		x->denied = r->auth_error;
		x->class->end(x);
		return;
	}
	exchange_begin_transfer(x);
}

static void exchange_finish_transfer(struct exchange *x)
{
	if (x->sse.last_id.n && x->sse.last_id.n < HEADER_BYTES) {
		buf_clear(&x->last_id);
		buf_append(&x->last_id, buf_str(&x->sse.last_id));
	}
	if (x->sse.retry_ms)
		x->retry_ms = x->sse.retry_ms;
	sse_release(&x->sse);
	if (!x->is_last && !x->error && (exchange_authorise(x) || exchange_redirect(x))) {
		exchange_prepare(x);
		return;
	}
	if (exchange_is_ok(x) && !x->is_stream && x->answer.n && x->class->event)
		x->class->event(x, (struct str){ 0 }, buf_str(&x->answer));
	if (!x->dropped)
		x->class->end(x);
}

static void on_exchange_kick(struct kick *kick)
{
	struct exchange *x = CONTAINER_OF(kick, struct exchange, kick);

	if (x->dropped) {
		if (!x->req)
			exchange_free(x);
	} else if (x->state == EXCHANGE_PREPARE) {
		exchange_prepare(x);
	} else if (x->state == EXCHANGE_RUN && x->ended) {
		timer_stop(x->remote->core.t.env->loop, &x->timer);
		exchange_finish_transfer(x);
	}
}

static void on_exchange_timer(struct timer *timer)
{
	struct exchange *x = CONTAINER_OF(timer, struct exchange, timer);

	if (x->state == EXCHANGE_PAUSE) {
		x->state = EXCHANGE_PREPARE;
		loop_kick(x->remote->core.t.env->loop, &x->kick);
	} else if (x->req) {
		x->timed_out = !x->answered;
		http_cancel(x->req);
	}
}

struct exchange *exchange_start(struct remote *r, const struct exchange_class *class, const char *method,
				const char *url, int64_t id, struct str body)
{
	bool is_last = !strcmp(method, "DELETE");
	struct exchange *x = xnew(
		struct exchange, .remote = r, .class = class, .method = method, .url = xstrdup(url), .id = id,
		.is_last = is_last,
		.first_byte_ms = is_last ? GOODBYE_MS : MAX((uint64_t)FIRST_BYTE_MS, r->core.t.server->timeout_ms));

	buf_append(&x->body, body);
	x->kick.step = on_exchange_kick;
	x->timer.fire = on_exchange_timer;
	list_append(&r->exchanges_end, x);
	loop_kick(r->core.t.env->loop, &x->kick);
	return x;
}

void exchange_answered(struct exchange *x)
{
	x->answered = true;
	if (x->req)
		timer_start(x->remote->core.t.env->loop, &x->timer, LINGER_MS);
}

void exchange_drop(struct exchange *x)
{
	x->dropped = true;
	if (x->req)
		http_cancel(x->req);
	loop_kick(x->remote->core.t.env->loop, &x->kick);
}

void exchange_free(struct exchange *x)
{
	struct remote *r = x->remote;

	if (r->opener == x) {
		r->opener = NULL;
		remote_kick(r);
	}
	timer_stop(r->core.t.env->loop, &x->timer);
	kick_cancel(&x->kick);
	list_remove_from(&r->exchanges_end, x);
	sse_release(&x->sse);
	buf_release(&x->body);
	buf_release(&x->answer);
	buf_release(&x->challenge);
	buf_release(&x->location);
	buf_release(&x->session_id);
	buf_release(&x->last_id);
	free(x->url);
	free(x);
	remote_settle(r);
}

/* With one line of the server's answer: the message of a JSON-RPC error, or the beginning of the body. */
static void describe_status(const struct exchange *x, struct err *ret_err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	struct str body = buf_str(&x->answer);
	struct str text = { 0 };
	enum err_kind kind = x->status == 401 || x->status == 403 ? ERR_DENIED
			     : x->status >= 500                   ? ERR_IO /* may be temporary: worth another try */
								  : ERR_PROTOCOL;

	if (body.n && json_parse(&reader, body.p, body.n, &root, NULL) == 0) {
		const struct json *error = json_get(root, "error");
		const struct json *message = json_get(error, "message");
		text = json_str(message ? message : error, &arena);
	}
	text = str_trim(text.n ? text : body);
	text = utf8_cut(str_cut(&text, '\n'), EXCERPT_BYTES);
	err_set(ret_err, kind, "the server answered HTTP %d%s" STR_FMT, x->status, text.n ? ": " : "", STR_ARG(text));
}

void exchange_describe(const struct exchange *x, struct err *ret_err)
{
	if (x->denied.kind)
		*ret_err = x->denied;
	else if (x->timed_out)
		err_set(ret_err, ERR_TIMEOUT, "the server did not answer within %llu s",
			(unsigned long long)(x->first_byte_ms / 1000));
	else if (x->error)
		err_set(ret_err, ERR_IO, "%s", x->text);
	else if (!exchange_is_ok(x))
		describe_status(x, ret_err);
	else
		err_set(ret_err, ERR_PROTOCOL, "the server ended its answer before it was complete");
}
