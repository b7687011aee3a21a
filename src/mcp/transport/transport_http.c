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
#include "mcp/transport/remote.h"

enum {
	RETRY_MS = 1000, /* unless the stream sets it */
	RETRY_LIMIT_MS = 30 * 1000,
	FRUITLESS_MOST = 5,    /* transfers in a row without data */
	STEADY_MS = 10 * 1000, /* a stream that lasted this long is not a failure */
	FORGOTTEN_MS = 2000,
	OWN_FIRST_BYTE_MS = 24 * 3600 * 1000, /* a server may send the head only with its first message */
};

struct streamable {
	struct remote remote;       /* first */
	struct exchange *listening; /* borrowed; NULL: no stream for the server's own messages */
	bool opener_due;            /* the next message without an id is notifications/initialized */
	struct timer timer;         /* the session has expired: delay before the connection ends */
	struct err forgotten;       /* the server's words about that */
};

static struct streamable *streamable_of(struct remote *r)
{
	return CONTAINER_OF(r, struct streamable, remote);
}

static void close_remote(struct exchange *x)
{
	struct remote *r = x->remote;
	struct err err;

	exchange_describe(x, &err);
	if (!r->core.closing)
		r->core.needs_auth = x->denied.kind == ERR_DENIED;
	remote_close(r, &err);
}

static void return_request(const struct exchange *x)
{
	const struct mcp_transport *t = &x->remote->core.t;

	if (x->id && !x->dropped && t->handlers.on_returned)
		t->handlers.on_returned(t->data, x->id);
}

/* Requests that still wait were never sent. */
static void leave_session(struct streamable *s)
{
	struct remote *r = &s->remote;

	timer_stop(r->core.t.env->loop, &s->timer);
	if (r->core.closing)
		return;
	for (struct exchange *x = r->exchanges; x; x = x->next)
		if (x->state == EXCHANGE_PREPARE && !x->challenges && !x->moves && !strcmp(x->method, "POST"))
			return_request(x);
	r->core.again = true;
	remote_close(r, &s->forgotten);
}

static void on_forgotten_long(struct timer *timer)
{
	leave_session(CONTAINER_OF(timer, struct streamable, timer));
}

/* The ends of a connection that any of its exchanges may find out. True: it is over. */
static bool closes_all(struct exchange *x)
{
	if (!exchange_is_gone(x) && !(x->denied.kind && x->status == 401))
		return false;
	close_remote(x);
	return true;
}

static bool deliver_event(struct exchange *x, struct str name, struct str payload)
{
	bool answered = false;
	struct err err;

	if (!str_trim(payload).n || (name.n && !str_is(name, "message")))
		return false; /* an event that only has an id, or an unknown one */
	if (mcp_core_message(&x->remote->core, payload, x->id, &answered, &err) < 0)
		mcp_core_log(&x->remote->core, "invalid message: %s", err.text);
	return answered;
}

/* Resumes a stream after a pause: as long as the server wants, longer after transfers without data. False: too many of
 * those. */
static bool resume_stream(struct exchange *x)
{
	uint64_t now_ms = loop_now_ms(x->remote->core.t.env->loop);
	uint64_t pause_ms = MIN(x->retry_ms ? x->retry_ms : RETRY_MS, (uint64_t)RETRY_LIMIT_MS);
	bool fruitful = x->status / 100 == 2 && (x->has_events || now_ms >= x->started_ms + STEADY_MS);

	x->fruitless = fruitful ? 0 : x->fruitless + 1;
	if (x->fruitless >= FRUITLESS_MOST)
		return false;
	if (x->fruitless > 1)
		pause_ms = MIN(pause_ms << (x->fruitless - 1), (uint64_t)RETRY_LIMIT_MS);
	x->method = "GET";
	buf_release(&x->body);
	x->state = EXCHANGE_PAUSE;
	timer_start(x->remote->core.t.env->loop, &x->timer, pause_ms);
	return true;
}

/* All else works without it, so only its absence is a reason to stop: most servers answer 405. */
static void on_own_end(struct exchange *x)
{
	struct streamable *s = streamable_of(x->remote);
	bool has_none = !x->error && x->status >= 400 && x->status < 500;

	if (closes_all(x) || (!has_none && resume_stream(x)))
		return;
	if (!has_none)
		mcp_core_log(&s->remote.core, "no messages from the server: its stream ends at once");
	s->listening = NULL;
	exchange_free(x);
}

static void on_own_event(struct exchange *x, struct str name, struct str payload)
{
	(void)deliver_event(x, name, payload);
}

static const struct exchange_class own_stream = { .event = on_own_event, .end = on_own_end };

static void on_post_head(struct exchange *x)
{
	struct remote *r = x->remote;
	struct streamable *s = streamable_of(r);

	if (!exchange_is_ok(x))
		return;
	r->proven = true;
	if (x->session_id.n && !r->session_id.n)
		buf_append(&r->session_id, buf_str(&x->session_id));
	if (r->opener != x)
		return;
	if (!s->listening && !r->core.closing) { /* first, so that notifications of calls are received */
		s->listening = exchange_start(r, &own_stream, "GET", r->url, 0, (struct str){ 0 });
		s->listening->first_byte_ms = OWN_FIRST_BYTE_MS;
	}
	r->opener = NULL;
	remote_kick(r);
}

static void on_post_event(struct exchange *x, struct str name, struct str payload)
{
	if (!x->id && !x->is_stream)
		return; /* "Accepted" */
	if (deliver_event(x, name, payload) && !x->answered)
		exchange_answered(x);
}

static void on_post_end(struct exchange *x)
{
	struct remote *r = x->remote;
	struct streamable *s = streamable_of(r);
	bool awaits_answers = false;
	struct err err;

	/* A 404 to a GET may only mean that there is no such stream. */
	bool is_forgotten = x->status == 404 && r->session_id.n && !strcmp(x->method, "POST");
	if (closes_all(x))
		return;
	if (!is_forgotten) {
		/* A refusal may still be an answer: an error of the protocol in the body of a 400. */
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		int64_t id;

		if (x->id && !x->answered && !x->error && !exchange_is_ok(x) && x->answer.n &&
		    json_parse(&reader, x->answer.p, x->answer.n, &root, NULL) == 0 &&
		    json_is(json_get(root, "error"), JSON_OBJECT) && json_i64(json_get(root, "id"), &id) && id == x->id)
			on_post_event(x, (struct str){ 0 }, buf_str(&x->answer));
	}
	if (is_forgotten) {
		if (!r->forgotten) {
			r->forgotten = true;
			exchange_describe(x, &s->forgotten);
			timer_start(r->core.t.env->loop, &s->timer, FORGOTTEN_MS);
		}
		return_request(x);
		exchange_free(x);
	} else if (x->answered || (!x->id && exchange_is_ok(x))) {
		exchange_free(x);
	} else if (!x->id || !x->last_id.n || (!x->error && x->status >= 400 && x->status < 500) || !resume_stream(x)) {
		if (r->proven) {
			exchange_describe(x, &err);
			mcp_core_lose(&r->core, x->id, &err);
			exchange_free(x);
		} else {
			close_remote(x);
		}
	}
	for (const struct exchange *e = r->exchanges; e; e = e->next)
		awaits_answers = awaits_answers || (e->id && e->state == EXCHANGE_RUN);
	if (r->forgotten && !awaits_answers)
		leave_session(s);
}

static const struct exchange_class message = { on_post_head, on_post_event, on_post_end };

static int http_open(struct mcp_transport *t, struct err *err)
{
	struct remote *r = CONTAINER_OF(t, struct remote, core.t);

	streamable_of(r)->timer.fire = on_forgotten_long;
	return remote_start(r, err);
}

/* Each message may use a connection of its own, but none may arrive before notifications/initialized, the first message
 * without an id after ready(). */
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

static const struct exchange_class goodbye = { .end = exchange_free };

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
	.start = http_open,
	.send = http_send,
	.drop = http_drop,
	.ready = http_ready,
	.close = http_close,
	.free = http_free_remote,
};
