/* SPDX-License-Identifier: MIT
 * transport_sse.c - HTTP with the older event stream (protocol 2024-11-05): a GET opens the stream, its first event has
 * the URL for messages, and all answers come on the stream. Its end is the end of the connection. */
#include "mcp/transport/remote.h"
#include "lib/base/list.h"
#include "lib/io/url.h"
#include "mcp/auth/oauth_http.h"

enum { ENDPOINT_MS = 60 * 1000 };

struct waiting {
	struct waiting *next;
	int64_t id;
	size_t n;
	char json[];
};

struct sse_transport {
	struct remote remote;  /* first */
	char *endpoint;        /* NULL: not known yet */
	struct waiting *queue; /* messages until then */
	struct timer patience;
};

static void sse_fail(struct sse_transport *s, enum err_kind kind, const char *text)
{
	struct err err;

	err_set(&err, kind, "%s", text);
	remote_close(&s->remote, &err);
}

static void on_patience_over(struct timer *timer)
{
	sse_fail(CONTAINER_OF(timer, struct sse_transport, patience), ERR_TIMEOUT,
		 "the server's event stream did not name the URL for messages");
}

static void on_post_end(struct exchange *x)
{
	struct err err;

	if (!exchange_is_ok(x)) {
		exchange_describe(x, &err);
		mcp_core_lose(&x->remote->core, x->id, &err);
	}
	exchange_free(x);
}

/* "Accepted" has no meaning: the answer comes on the stream. */
static const struct exchange_class message = { .end = on_post_end };

/* Same origin only: messages may contain secrets. */
static void take_endpoint(struct sse_transport *s, struct str text)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *url = url_resolve(&arena, s->remote.url, arena_str(&arena, str_trim(text)).p);

	if (s->endpoint)
		return;
	if (!url || !oauth_same_origin(s->remote.url, url)) {
		sse_fail(s, ERR_PROTOCOL, "the server's event stream redirects messages to another origin");
		return;
	}
	s->endpoint = xstrdup(url);
	timer_stop(s->remote.core.t.env->loop, &s->patience);
	for (struct waiting *w; (w = list_pop(&s->queue));) {
		(void)exchange_start(&s->remote, &message, "POST", url, w->id, (struct str){ w->json, w->n });
		free(w);
	}
}

static void on_stream_event(struct exchange *x, struct str name, struct str payload)
{
	struct mcp_core *core = &x->remote->core;
	struct err err;

	if (!x->is_stream)
		return; /* its end reports that */
	if (str_is(name, "endpoint"))
		take_endpoint(CONTAINER_OF(x->remote, struct sse_transport, remote), payload);
	else if ((!name.n || str_is(name, "message")) && mcp_core_message(core, payload, 0, NULL, &err) < 0)
		mcp_core_log(core, "invalid message: %s", err.text);
}

static void on_stream_end(struct exchange *x)
{
	struct remote *r = x->remote;
	struct err err;

	if (exchange_is_ok(x) && x->is_stream)
		err_set(&err, ERR_IO, "the server ended its event stream");
	else if (exchange_is_ok(x))
		err_set(&err, ERR_PROTOCOL, "the URL does not serve an event stream");
	else
		exchange_describe(x, &err);
	if (!r->core.closing)
		r->core.needs_auth = x->denied.kind == ERR_DENIED;
	remote_close(r, &err);
}

static const struct exchange_class stream = { .event = on_stream_event, .end = on_stream_end };

static int sse_start(struct mcp_transport *t, struct err *err)
{
	struct sse_transport *s = CONTAINER_OF(t, struct sse_transport, remote.core.t);

	s->patience.fire = on_patience_over;
	int rc = remote_start(&s->remote, err);
	if (rc < 0)
		return rc;
	(void)exchange_start(&s->remote, &stream, "GET", s->remote.url, 0, (struct str){ 0 });
	timer_start(t->env->loop, &s->patience, ENDPOINT_MS);
	return 0;
}

static void sse_send(struct mcp_transport *t, int64_t id, struct str json)
{
	struct sse_transport *s = CONTAINER_OF(t, struct sse_transport, remote.core.t);

	if (s->remote.core.closing)
		return;
	if (s->endpoint) {
		(void)exchange_start(&s->remote, &message, "POST", s->endpoint, id, json);
		return;
	}
	struct waiting *w = xmalloc(sizeof *w + json.n);
	*w = (struct waiting){ .id = id, .n = json.n };
	memcpy(w->json, json.p, json.n);
	list_push_last(&s->queue, w);
}

static void sse_close(struct mcp_transport *t)
{
	remote_close(CONTAINER_OF(t, struct remote, core.t), NULL);
}

static void sse_free(struct mcp_transport *t)
{
	struct sse_transport *s = CONTAINER_OF(t, struct sse_transport, remote.core.t);

	timer_stop(t->env->loop, &s->patience);
	for (struct waiting *w; (w = list_pop(&s->queue));)
		free(w);
	free(s->endpoint);
	remote_release(&s->remote);
	free(s);
}

const struct mcp_transport_class mcp_transport_sse = {
	.size = sizeof(struct sse_transport),
	.start = sse_start,
	.send = sse_send,
	.close = sse_close,
	.free = sse_free,
};
