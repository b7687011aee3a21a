/* SPDX-License-Identifier: MIT
 * transport_http.c - streamable HTTP: each message is a POST of its own, its answer a JSON body or a stream of events;
 * one more stream, opened with GET, carries messages of the server. A stream that breaks before its answer is resumed
 * with a GET after the last event id.
 *
 * Failures: a failed first message, an unreachable server, an expired session and failed authorisation end the
 * connection; any other failure loses one request.
 *
 * After an expired session (404) the open requests are waited for: one that also gets 404 was not processed and may be
 * sent again; one without an answer is lost. */
#include "mcp/transport/exchange.h"

enum {
	RETRY_MS = 1000, /* when the stream does not say */
	RETRY_LIMIT_MS = 30 * 1000,
	FRUITLESS_MOST = 5,    /* transfers in a row that bring nothing */
	STEADY_MS = 10 * 1000, /* a stream that held this long was no failure */
	FORGOTTEN_MS = 2000,
	OWN_FIRST_BYTE_MS = 24 * 3600 * 1000, /* a server may send the head only with its first message */
};

struct streamable {
	struct remote remote;       /* first */
	struct exchange *listening; /* borrowed; NULL: no stream for the server's own messages */
	bool opener_due;            /* the next message without an id is notifications/initialized */
	struct timer timer;         /* the session is forgotten: until the connection is ended */
	struct err forgotten;       /* how that was said */
};

static struct streamable *streamable_of(struct remote *r)
{
	return CONTAINER_OF(r, struct streamable, remote);
}

static void close_with(struct exchange *x)
{
	struct remote *r = x->remote;
	struct err err;

	exchange_describe(x, &err);
	if (!r->core.closing)
		r->core.needs_auth = x->denied.kind == ERR_DENIED;
	remote_close(r, &err);
}

/* ---- a session that the server has forgotten ---- */

static bool is_forgotten(const struct exchange *x)
{
	/* A 404 to a GET may only mean that there is no such stream. */
	return x->status == 404 && x->remote->session_id.n && !strcmp(x->method, "POST");
}

static void give_back(const struct exchange *x)
{
	const struct mcp_transport *t = &x->remote->core.t;

	if (x->id && !x->dropped && t->handlers.on_returned)
		t->handlers.on_returned(t->data, x->id);
}

/* Those that were held back never went out. */
static void leave_session(struct streamable *s)
{
	struct remote *r = &s->remote;

	timer_stop(r->core.t.env->loop, &s->timer);
	if (r->core.closing)
		return;
	for (struct exchange *x = r->exchanges; x; x = x->next)
		if (x->state == EXCHANGE_PREPARE && !x->challenges && !x->moves && !strcmp(x->method, "POST"))
			give_back(x);
	r->core.again = true;
	remote_close(r, &s->forgotten);
}

static void on_forgotten_long(struct timer *timer)
{
	leave_session(CONTAINER_OF(timer, struct streamable, timer));
}

static bool awaits_answers(const struct remote *r)
{
	for (const struct exchange *x = r->exchanges; x; x = x->next)
		if (x->id && x->state == EXCHANGE_RUN)
			return true;
	return false;
}

static void take_forgotten(struct exchange *x)
{
	struct remote *r = x->remote;
	struct streamable *s = streamable_of(r);

	if (!r->forgotten) {
		r->forgotten = true;
		exchange_describe(x, &s->forgotten);
		timer_start(r->core.t.env->loop, &s->timer, FORGOTTEN_MS);
	}
	give_back(x);
	exchange_free(x);
}

/* ---- what its end means ---- */

/* The ends of a connection that any of its exchanges may find out. True: it is over. */
static bool closes_all(struct exchange *x)
{
	if (!exchange_is_gone(x) && !(x->denied.kind && x->status == 401))
		return false;
	close_with(x);
	return true;
}

static bool is_refused(const struct exchange *x)
{
	return !x->error && x->status >= 400 && x->status < 500;
}

static bool hand_on(struct exchange *x, struct str name, struct str payload)
{
	bool answered = false;
	struct err err;

	if (!str_trim(payload).n || (name.n && !str_is(name, "message")))
		return false; /* an event that only has an id; an event of no meaning */
	if (mcp_core_message(&x->remote->core, payload, x->id, &answered, &err) < 0)
		mcp_core_log(&x->remote->core, "invalid message: %s", err.text);
	return answered;
}

/* How long until a stream is asked for again: as the server wishes, longer when it brings nothing. */
static uint64_t pause_ms(const struct exchange *x)
{
	uint64_t ms = MIN(x->retry_ms ? x->retry_ms : RETRY_MS, (uint64_t)RETRY_LIMIT_MS);

	return x->fruitless > 1 ? MIN(ms << (x->fruitless - 1), (uint64_t)RETRY_LIMIT_MS) : ms;
}

static bool was_fruitful(const struct exchange *x)
{
	uint64_t now_ms = loop_now_ms(x->remote->core.t.env->loop);

	return x->status / 100 == 2 && (x->has_events || now_ms >= x->started_ms + STEADY_MS);
}

static bool may_try_again(struct exchange *x)
{
	x->fruitless = was_fruitful(x) ? 0 : x->fruitless + 1;
	return x->fruitless < FRUITLESS_MOST;
}

/* ---- the stream of the server's own messages ---- */

static void on_own_event(struct exchange *x, struct str name, struct str payload)
{
	(void)hand_on(x, name, payload);
}

/* Without it all else works, so only its absence is a reason to stop asking: most servers answer 405. */
static void on_own_end(struct exchange *x)
{
	struct streamable *s = streamable_of(x->remote);
	bool has_none = is_refused(x);

	if (closes_all(x))
		return;
	if (!has_none && may_try_again(x)) {
		exchange_again(x, pause_ms(x));
		return;
	}
	if (!has_none)
		mcp_core_log(&s->remote.core, "no messages from the server: its stream ends at once");
	s->listening = NULL;
	exchange_free(x);
}

static const struct exchange_class own_stream = { .event = on_own_event, .end = on_own_end };

static void listen_to(struct streamable *s)
{
	struct remote *r = &s->remote;

	if (s->listening || r->core.closing)
		return;
	s->listening = exchange_start(r, &own_stream, "GET", r->url, 0, (struct str){ 0 });
	s->listening->first_byte_ms = OWN_FIRST_BYTE_MS;
}

/* ---- messages ---- */

static void on_post_head(struct exchange *x)
{
	struct remote *r = x->remote;

	if (!exchange_is_ok(x))
		return;
	r->proven = true;
	if (x->session_id.n && !r->session_id.n)
		buf_add(&r->session_id, x->session_id.p, x->session_id.n);
	if (r->opener == x) {
		listen_to(streamable_of(r)); /* first, so that notifications of calls are received */
		remote_opener_taken(r);
	}
}

static void on_post_event(struct exchange *x, struct str name, struct str payload)
{
	if (!x->id && !x->is_stream)
		return; /* "Accepted" */
	if (hand_on(x, name, payload) && !x->answered)
		exchange_answered(x);
}

/* A refusal may still be an answer: an error of the protocol in the body of a 400. */
static bool is_answered(struct exchange *x)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	int64_t id;

	if (x->answered)
		return true;
	if (!x->id || x->error || exchange_is_ok(x) || !x->answer.n ||
	    json_parse(&reader, x->answer.p, x->answer.n, &root, NULL) < 0 ||
	    !json_is(json_get(root, "error"), JSON_OBJECT) || !json_i64(json_get(root, "id"), &id) || id != x->id)
		return false;
	on_post_event(x, (struct str){ 0 }, buf_str(&x->answer));
	return x->answered;
}

static void end_post(struct exchange *x)
{
	struct remote *r = x->remote;
	struct err err;

	if (closes_all(x))
		return;
	if (is_forgotten(x)) {
		take_forgotten(x);
	} else if (is_answered(x) || (!x->id && exchange_is_ok(x))) {
		exchange_free(x);
	} else if (x->id && x->last_id.n && !is_refused(x) && may_try_again(x)) {
		exchange_again(x, pause_ms(x));
	} else if (!r->proven) {
		close_with(x);
	} else {
		exchange_describe(x, &err);
		mcp_core_lose(&r->core, x->id, &err);
		exchange_free(x);
	}
}

static void on_post_end(struct exchange *x)
{
	struct remote *r = x->remote;

	end_post(x);
	if (r->forgotten && !awaits_answers(r))
		leave_session(streamable_of(r));
}

static const struct exchange_class message = { on_post_head, on_post_event, on_post_end };

/* ---- the class ---- */

static int http_start_remote(struct mcp_transport *t, struct err *err)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	streamable_of(r)->timer.fire = on_forgotten_long;
	return remote_start(r, err);
}

/* Each message may travel on a connection of its own, but nothing may arrive before notifications/initialized, the first
 * message without an id after ready(). */
static void http_send(struct mcp_transport *t, int64_t id, struct str json)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	if (r->core.closing)
		return;
	struct exchange *x = exchange_start(r, &message, "POST", r->url, id, json);
	if (!id && streamable_of(r)->opener_due) {
		streamable_of(r)->opener_due = false;
		r->opener = x;
	}
}

static void http_drop(struct mcp_transport *t, int64_t id)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	for (struct exchange *x = r->exchanges; x; x = x->next)
		if (x->id == id && id)
			exchange_drop(x);
}

static void http_ready(struct mcp_transport *t, const char *version)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	buf_clear(&r->version);
	buf_addstr(&r->version, version);
	streamable_of(r)->opener_due = true;
}

static void on_goodbye_event(struct exchange *x, struct str name, struct str payload)
{
	(void)x;
	(void)name;
	(void)payload;
}

static const struct exchange_class goodbye = { .event = on_goodbye_event, .end = exchange_free };

static void http_close(struct mcp_transport *t)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	if (r->core.closing)
		return;
	if (r->session_id.n && !r->forgotten)
		(void)exchange_start(r, &goodbye, "DELETE", r->url, 0, (struct str){ 0 });
	remote_close(r, NULL);
}

static void http_free_remote(struct mcp_transport *t)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	timer_stop(r->core.t.env->loop, &streamable_of(r)->timer);
	remote_release(r);
	free(streamable_of(r));
}

const struct mcp_transport_class mcp_transport_http = {
	.size = sizeof(struct streamable),
	.start = http_start_remote,
	.send = http_send,
	.drop = http_drop,
	.ready = http_ready,
	.close = http_close,
	.free = http_free_remote,
};
