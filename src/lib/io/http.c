/* SPDX-License-Identifier: MIT
 * http.c - the life of a request, and the curl multi handles (shards) on the loop.
 *
 *   START -> RUN -> END             a numeric address, or a name that is known
 *     |\-> WAIT_UPLOAD -> START     enough large bodies are on their way to the same host
 *      \-> WAIT_NAME -> START       another request resolves the same name
 *
 * curl's callbacks and http_cancel record a fact and kick. What they mean is decided in http_req_step() and
 * http_req_done(), which are never inside curl, so that a request can be taken out of its shard there and
 * handlers may start others.
 *
 * The cost of a call into a multi handle grows with its transfers, so they are spread over handles of
 * shard_size. A query's number chooses its handle (number modulo count); a full one passes the transfer on
 * to the next. Connections belong to a handle and fit every request to the same server, so what counts for
 * their reuse is that each handle sees about as many transfers in every wave, not which ones. Handles are
 * added when all are full and stay. */
#include "lib/io/http_int.h"
#include <assert.h>
#include <openssl/ssl.h>

enum {
	DEFAULT_SHARD_SIZE = 100,
	DEFAULT_UPLOADS = 64,
	DEFAULT_STALL_MS = 120000,
	DEFAULT_LIMIT_BYTES = 256 << 20,
};

/* What curl_global_init() spends its time on. curl's own lock spins, so that call stays on the loop. */
static void on_prepare(void *unused)
{
	(void)OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL);
}

bool http_prepare(uv_thread_t *ret_thread)
{
	return uv_thread_create(ret_thread, on_prepare, NULL) == 0;
}

struct http *http_new(struct loop *loop, const struct http_options *options)
{
	struct http *h = xnew(struct http, .loop = loop,
			      .shard_size = options->shard_size ? options->shard_size : DEFAULT_SHARD_SIZE,
			      .most_uploads = options->uploads ? options->uploads : DEFAULT_UPLOADS);

	h->ca_file = arena_strdup(&h->arena, options->ca_file);
	h->user_agent = arena_strdup(&h->arena, options->user_agent);
	h->client_cert = arena_strdup(&h->arena, options->client_cert);
	h->client_key = arena_strdup(&h->arena, options->client_key);
	h->client_key_password = arena_strdup(&h->arena, options->client_key_password);
	return h;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	assert(h->active == 0);
	for (size_t i = 0; i < h->shard_count; i++) {
		struct http_shard *s = h->shards[i];
		curl_multi_cleanup(s->multi); /* may still call on_socket and on_timeout */
		timer_stop(h->loop, &s->timer);
		free(s);
	}
	free(h->shards);
	http_host_free_all(h);
	X509_STORE_free(h->store);
	if (h->is_open) {
		curl_share_cleanup(h->share);
		curl_global_cleanup();
	}
	arena_release(&h->arena);
	free(h);
}

unsigned http_pick_shard(struct http *h)
{
	return ++h->next_shard;
}

void *http_data(struct http_req *r)
{
	return r->data;
}

int http_status(const struct http_req *r)
{
	return r->status;
}

static void http_req_free(struct http_req *r)
{
	timer_stop(r->http->loop, &r->stall);
	kick_cancel(&r->kick);
	curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	free(r);
}

static void http_req_end(struct http_req *r, enum http_error error, const char *text)
{
	struct http *h = r->http;

	http_host_leave(r, error, text);
	if (r->state == REQ_RUN) {
		curl_multi_remove_handle(r->shard->multi, r->easy);
		r->shard->active--;
		h->in_shards--;
	}
	r->state = REQ_END;
	r->handlers.on_done(r, error, text);
	http_req_free(r);
	h->active--;
}

/* curl is finished with it */
static void http_req_done(struct http_req *r, CURLcode code)
{
	enum http_error error = http_easy_error(code);

	if (r->failure)
		http_req_end(r, r->failure, r->failure_text);
	else if (error == HTTP_TOO_LARGE) /* curl reports this as out of memory */
		http_req_end(r, error, "a header of the answer is too long");
	else if (error)
		http_req_end(r, error, r->curl_text[0] ? r->curl_text : curl_easy_strerror(code));
	else if (!r->head_seen) /* curl sees no error in this */
		http_req_end(r, HTTP_RESET, "the connection was closed inside the headers of the answer");
	else
		http_req_end(r, HTTP_OK, "");
}

void http_req_fail(struct http_req *r, enum http_error error, const char *fmt, ...)
{
	if (r->failure || r->state == REQ_END)
		return;
	r->failure = error;
	PRINT_ARGS(r->failure_text, fmt);
	loop_kick(r->http->loop, &r->kick);
}

/* The timer is not moved with every byte: when it fires, it looks how long ago the last one was. */
static void on_stall(struct timer *timer)
{
	struct http_req *r = CONTAINER_OF(timer, struct http_req, stall);
	uint64_t now_ms = loop_now_ms(r->http->loop);
	uint64_t quiet_ms = r->state == REQ_WAIT_UPLOAD ? 0 : now_ms - r->last_byte_ms;

	if (now_ms >= r->late_ms)
		http_req_fail(r, HTTP_LATE, "it took too long");
	else if (quiet_ms < r->stall_ms)
		timer_start(r->http->loop, timer, MIN(r->stall_ms - quiet_ms, r->late_ms - now_ms));
	else
		http_req_fail(r, HTTP_STALLED, "no byte for %.1f s", (double)r->stall_ms / 1000);
}

void http_cancel(struct http_req *r)
{
	http_req_fail(r, HTTP_CANCELLED, "cancelled");
}

void http_pause(struct http_req *r, bool on)
{
	if (r->paused == on || r->state == REQ_END)
		return;
	r->paused = on;
	if (on) {
		timer_stop(r->http->loop, &r->stall);
		return;
	}
	http_req_touch(r);
	timer_start(r->http->loop, &r->stall, r->stall_ms);
	if (r->held)
		loop_kick(r->http->loop, &r->kick);
}

/* One socket of curl's; freed by its close callback */
struct watch {
	uv_poll_t poll;
	struct http_shard *shard; /* borrowed; not valid after uv_close */
	curl_socket_t fd;
	int events;
};

static struct http_req *req_of(CURL *easy)
{
	char *req = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &req);
	return (void *)req;
}

static void shard_run_curl(struct http_shard *s, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(s->multi, fd, events, &running);
	/* Requests that curl has finished; their handlers run here, outside of curl. */
	CURLMsg *msg;
	int left;
	while ((msg = curl_multi_info_read(s->multi, &left))) {
		if (msg->msg == CURLMSG_DONE)
			http_req_done(req_of(msg->easy_handle), msg->data.result);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	int flags = 0;

	if (status < 0) {
		/* libuv stops watching a socket in error, but curl would not ask for it again. */
		uv_poll_start(poll, w->events, on_poll);
		flags = CURL_CSELECT_ERR;
	}
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	shard_run_curl(w->shard, w->fd, flags);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *shard, void *watch)
{
	struct http_shard *s = shard;
	struct watch *w = watch;

	if (what == CURL_POLL_REMOVE) {
		if (w)
			uv_close((uv_handle_t *)&w->poll, loop_free_handle);
		return 0;
	}
	if (!w) {
		w = xcalloc(1, sizeof *w);
		w->shard = s;
		w->fd = fd;
		w->poll.data = w;
		if (uv_poll_init_socket(loop_uv(s->http->loop), &w->poll, fd) < 0) {
			/* -1 would make the whole multi handle unusable: only this request fails. */
			struct http_req *r = req_of(easy);
			if (r)
				http_req_fail(r, HTTP_OTHER, "cannot watch the socket");
			free(w);
			return 0;
		}
		curl_multi_assign(s->multi, fd, w);
	}
	w->events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	uv_poll_start(&w->poll, w->events, on_poll);
	return 0;
}

static void on_due(struct timer *timer)
{
	shard_run_curl(CONTAINER_OF(timer, struct http_shard, timer), CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout(CURLM *multi, long timeout_ms, void *shard)
{
	struct http_shard *s = shard;

	if (timeout_ms < 0)
		timer_stop(s->http->loop, &s->timer);
	else
		timer_start(s->http->loop, &s->timer, (uint64_t)timeout_ms);
	return 0;
}

static struct http_shard *shard_new(struct http *h)
{
	struct http_shard *s = xnew(struct http_shard, .http = h, .timer.fire = on_due, .multi = curl_multi_init());

	if (!s->multi)
		base_oom(0);
	curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
	curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
	/* By default curl keeps fewer idle connections and opens the rest again in every wave. */
	curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)h->shard_size);
	curl_multi_setopt(s->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	curl_multi_setopt(s->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)h->shard_size);
	return s;
}

static void http_req_begin(struct http_req *r)
{
	struct http *h = r->http;
	size_t number = r->shard_number;
	struct err err = { 0 };

	if (!http_host_enter_upload(r)) {
		r->state = REQ_WAIT_UPLOAD;
		return;
	}
	if (r->state == REQ_WAIT_UPLOAD)
		http_req_touch(r); /* its wait is over, and was no silence of the server */
	if (!http_host_enter(r)) {
		r->state = REQ_WAIT_NAME;
		return;
	}
	if (r->is_https && http_tls_load(h, &err) < 0) {
		http_req_end(r, HTTP_TLS, err.text);
		return;
	}
	if (h->in_shards >= h->shard_count * h->shard_size) {
		h->shards = xrealloc(h->shards, (h->shard_count + 1) * sizeof(struct http_shard *));
		h->shards[h->shard_count] = shard_new(h);
		h->shard_count++;
	}
	while (h->shards[number % h->shard_count]->active >= h->shard_size)
		number++;
	struct http_shard *s = h->shards[number % h->shard_count];
	CURLMcode code = curl_multi_add_handle(s->multi, r->easy);
	if (code != CURLM_OK) {
		err_set(&err, ERR_IO, "cannot start a transfer: %s", curl_multi_strerror(code));
		http_req_end(r, HTTP_OTHER, err.text);
		return;
	}
	r->shard = s;
	s->active++;
	h->in_shards++;
	r->state = REQ_RUN;
}

static void http_req_step(struct kick *kick)
{
	struct http_req *r = CONTAINER_OF(kick, struct http_req, kick);

	if (r->failure) {
		http_req_end(r, r->failure, r->failure_text);
		return;
	}
	if (r->state != REQ_RUN) {
		http_req_begin(r);
		return;
	}
	if (r->is_sent && !r->is_trimmed) {
		http_easy_trim(r);
		r->is_trimmed = true;
		http_host_sent(r);
	}
	if (r->held && !r->paused) {
		/* curl delivers buffered data from inside this call, and only its return value reports a failure there. */
		r->held = false;
		CURLcode code = curl_easy_pause(r->easy, CURLPAUSE_CONT);
		if (code != CURLE_OK)
			http_req_done(r, code);
	}
}

int http_start(struct http *h, const struct http_request *request, const struct http_handlers *handlers, void *data,
	       struct http_req **ret_req, struct err *err)
{
	/* curl is initialised with the first request: a run that needs no model does not pay for it. */
	if (!h->is_open) {
		if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
			return err_set(err, ERR_IO, "cannot initialise libcurl");
		h->share = curl_share_init();
		if (!h->share)
			base_oom(0);
		curl_share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
		curl_share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
		h->is_open = true;
	}
	struct http_req *r =
		xnew(struct http_req, .http = h, .handlers = *handlers, .data = data, .kick.step = http_req_step,
		     .stall.fire = on_stall, .shard_number = request->shard, .refused = request->refused,
		     .body = request->body, .body_data = request->body_data, .body_text = request->text.p);
	if (r->body_text)
		r->body.size = request->text.n;
	r->stall_ms = request->stall_ms ? request->stall_ms : DEFAULT_STALL_MS;
	r->answer = request->answer;
	r->limit_bytes = request->limit_bytes ? request->limit_bytes : DEFAULT_LIMIT_BYTES;
	int rc = http_easy_init(r, request, err);
	if (rc < 0) {
		http_req_free(r);
		return rc;
	}
	h->active++;
	http_req_touch(r);
	r->late_ms = request->limit_ms ? r->last_byte_ms + request->limit_ms : UINT64_MAX;
	timer_start(h->loop, &r->stall, MIN(r->stall_ms, r->late_ms - r->last_byte_ms));
	loop_kick(h->loop, &r->kick);
	*ret_req = r;
	return 0;
}

/* A request that is waited for */
struct asked {
	struct loop *loop;
	int status;
	struct buf *location; /* NULL: it is not wanted */
	bool over;
	struct err err;
};

static void on_asked_header(struct http_req *r, struct str name, struct str value)
{
	struct asked *a = r->data;

	if (!a->location || !str_is_nocase(name, "location"))
		return;
	buf_clear(a->location);
	buf_append(a->location, value);
}

static void on_asked_done(struct http_req *r, enum http_error error, const char *text)
{
	struct asked *a = r->data;

	if (error)
		(void)err_set(&a->err, error == HTTP_TOO_LARGE ? ERR_LIMIT : ERR_IO, "%s", text);
	a->status = http_status(r);
	a->over = true;
	loop_stop(a->loop);
}

int http_ask(struct http *h, const struct http_request *request, int *ret_status, struct buf *ret_location,
	     struct err *err)
{
	static const struct http_handlers handlers = { .on_header = on_asked_header, .on_done = on_asked_done };
	struct asked a = { .loop = h->loop, .location = ret_location };
	struct http_req *r;

	if (http_start(h, request, &handlers, &a, &r, err) < 0)
		return -(int)err->kind;
	while (!a.over)
		loop_run(h->loop);
	*ret_status = a.status;
	if (a.err.kind)
		*err = a.err;
	return -(int)a.err.kind;
}
