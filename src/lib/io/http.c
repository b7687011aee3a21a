/* SPDX-License-Identifier: MIT
 * http.c - the life of a request.
 *
 *   START -> RUN -> END             a numeric address, or a name that is known
 *     \-> WAIT_NAME -> START        another request resolves the same name
 *
 * curl's callbacks and http_cancel record a fact and kick. What they mean is decided in step() and in
 * http_req_done(), which are never inside curl, so that a request can be taken out of its shard there and
 * handlers may start others. */
#include "lib/io/http_int.h"
#include <assert.h>

enum {
	DEFAULT_SHARD_SIZE = 100,
	DEFAULT_STALL_MS = 120000,
	DEFAULT_LIMIT_BYTES = 256 << 20,
};

struct http *http_new(struct loop *loop, const struct http_options *options, struct err *err)
{
	struct http *h = xcalloc(1, sizeof *h);

	h->loop = loop;
	h->shard_size = options->shard_size ? options->shard_size : DEFAULT_SHARD_SIZE;
	h->ca_file = options->ca_file ? xstrdup(options->ca_file) : NULL;
	h->user_agent = options->user_agent ? xstrdup(options->user_agent) : NULL;
	return h;
}

/* curl's own initialisation waits for the first request: a run that needs no model does not pay for it. */
static int open_client(struct http *h, struct err *err)
{
	if (h->is_open)
		return 0;
	if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
		return err_set(err, ERR_IO, "cannot initialise libcurl");
	h->share = curl_share_init();
	if (!h->share)
		base_oom(0);
	curl_share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
	curl_share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	h->is_open = true;
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	assert(h->active == 0);
	for (size_t i = 0; i < h->shard_count; i++)
		http_shard_free(h->shards[i]);
	free(h->shards);
	http_host_free_all(h);
	X509_STORE_free(h->store);
	if (h->is_open) {
		curl_share_cleanup(h->share);
		curl_global_cleanup();
	}
	free(h->ca_file);
	free(h->user_agent);
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

static void free_req(struct http_req *r)
{
	timer_stop(r->http->loop, &r->stall);
	kick_cancel(&r->kick);
	curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	free(r);
}

static void end(struct http_req *r, enum http_error error, const char *text)
{
	struct http *h = r->http;

	http_host_leave(r, error, text);
	if (r->state == REQ_RUN)
		http_shard_remove(r);
	r->state = REQ_END;
	r->handlers.on_done(r, error, text);
	free_req(r);
	h->active--;
}

void http_req_done(struct http_req *r, CURLcode code)
{
	enum http_error error = http_easy_error(code);

	if (r->failure)
		end(r, r->failure, r->failure_text);
	else if (error == HTTP_TOO_LARGE) /* curl reports this as out of memory */
		end(r, error, "a header of the answer is too long");
	else if (error)
		end(r, error, r->curl_text[0] ? r->curl_text : curl_easy_strerror(code));
	else if (!r->head_seen) /* nothing wrong, in curl's eyes */
		end(r, HTTP_RESET, "the connection was closed inside the headers of the answer");
	else
		end(r, HTTP_OK, "");
}

void http_req_fail(struct http_req *r, enum http_error error, const char *fmt, ...)
{
	va_list ap;

	if (r->failure || r->state == REQ_END)
		return;
	va_start(ap, fmt);
	r->failure = error;
	vsnprintf(r->failure_text, sizeof r->failure_text, fmt, ap);
	va_end(ap);
	loop_kick(r->http->loop, &r->kick);
}

static void request_start(struct http_req *r)
{
	struct err err = { 0 };

	if (!http_host_enter(r)) {
		r->state = REQ_WAIT_NAME;
		return;
	}
	if (r->is_https && http_tls_load(r->http, &err) < 0) {
		end(r, HTTP_TLS, err.text);
		return;
	}
	if (http_shard_add(r, &err) < 0) {
		end(r, HTTP_OTHER, err.text);
		return;
	}
	r->state = REQ_RUN;
}

/* curl delivers buffered data from inside curl_easy_pause, and only its return value reports a failure there. */
static void go_on(struct http_req *r)
{
	CURLcode code = CURLE_OK;

	if (r->is_sent && !r->is_trimmed) {
		http_easy_trim(r);
		r->is_trimmed = true;
	}
	if (r->held && !r->paused) {
		r->held = false;
		code = curl_easy_pause(r->easy, CURLPAUSE_CONT);
	}
	if (code != CURLE_OK)
		http_req_done(r, code);
}

static void step(struct kick *kick)
{
	struct http_req *r = CONTAINER_OF(kick, struct http_req, kick);

	if (r->failure)
		end(r, r->failure, r->failure_text);
	else if (r->state != REQ_RUN)
		request_start(r);
	else
		go_on(r);
}

void http_req_touch(struct http_req *r)
{
	r->last_byte_ms = loop_now_ms(r->http->loop);
}

/* The timer is not moved with every byte: when it fires, it looks how long ago the last one was. */
static void on_stall(struct timer *timer)
{
	struct http_req *r = CONTAINER_OF(timer, struct http_req, stall);
	uint64_t quiet_ms = loop_now_ms(r->http->loop) - r->last_byte_ms;

	if (quiet_ms < r->stall_ms)
		timer_start(r->http->loop, timer, r->stall_ms - quiet_ms);
	else
		http_req_fail(r, HTTP_STALLED, "no byte for %.1f s", (double)r->stall_ms / 1000);
}

int http_start(struct http *h, const struct http_request *request, const struct http_handlers *handlers, void *data,
	       struct http_req **ret_req, struct err *err)
{
	int rc = open_client(h, err);
	if (rc < 0)
		return rc;

	struct http_req *r = xcalloc(1, sizeof *r);
	r->http = h;
	r->handlers = *handlers;
	r->data = data;
	r->kick.step = step;
	r->stall.fire = on_stall;
	r->shard_number = request->shard;
	r->refused = request->refused;
	r->body = request->body;
	r->body_data = request->body_data;
	r->stall_ms = request->stall_ms ? request->stall_ms : DEFAULT_STALL_MS;
	r->limit_bytes = request->limit_bytes ? request->limit_bytes : DEFAULT_LIMIT_BYTES;
	rc = http_easy_init(r, request, err);
	if (rc < 0) {
		free_req(r);
		return rc;
	}
	h->active++;
	http_req_touch(r);
	timer_start(h->loop, &r->stall, r->stall_ms);
	loop_kick(h->loop, &r->kick);
	*ret_req = r;
	return 0;
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
