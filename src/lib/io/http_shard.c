/* SPDX-License-Identifier: MIT
 * http_shard.c - curl multi handles on the loop.
 *
 * The cost of a call into a multi handle grows with its transfers, so they are spread over handles of
 * shard_size. A query's number chooses its handle (number modulo count); a full one passes the transfer on
 * to the next. Connections belong to a handle and fit every request to the same server, so what counts for
 * their reuse is that each handle sees about as many transfers in every wave, not which ones. Handles are
 * added when all are full and stay. */
#include "lib/io/http_int.h"

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

static void act(struct http_shard *s, curl_socket_t fd, int events)
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
	act(w->shard, w->fd, flags);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static struct watch *watch_new(struct http_shard *s, curl_socket_t fd)
{
	struct watch *w = xcalloc(1, sizeof *w);

	w->shard = s;
	w->fd = fd;
	w->poll.data = w;
	if (uv_poll_init_socket(loop_uv(s->http->loop), &w->poll, fd) < 0) {
		free(w);
		return NULL;
	}
	curl_multi_assign(s->multi, fd, w);
	return w;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *shard, void *watch)
{
	struct http_shard *s = shard;
	struct watch *w = watch;

	if (what == CURL_POLL_REMOVE) {
		if (w)
			uv_close((uv_handle_t *)&w->poll, on_closed);
		return 0;
	}
	if (!w && !(w = watch_new(s, fd))) {
		/* -1 would make the whole multi handle unusable: only this request fails. */
		struct http_req *r = req_of(easy);
		if (r)
			http_req_fail(r, HTTP_OTHER, "cannot watch the socket");
		return 0;
	}
	w->events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	uv_poll_start(&w->poll, w->events, on_poll);
	return 0;
}

static void on_due(struct timer *timer)
{
	act(CONTAINER_OF(timer, struct http_shard, timer), CURL_SOCKET_TIMEOUT, 0);
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
	struct http_shard *s = xcalloc(1, sizeof *s);

	s->http = h;
	s->timer.fire = on_due;
	s->multi = curl_multi_init();
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

void http_shard_free(struct http_shard *s)
{
	curl_multi_cleanup(s->multi); /* may still call on_socket and on_timeout */
	timer_stop(s->http->loop, &s->timer);
	free(s);
}

int http_shard_add(struct http_req *r, struct err *err)
{
	struct http *h = r->http;
	size_t number = r->shard_number;
	if (h->in_shards >= h->shard_count * h->shard_size) {
		h->shards = xrealloc(h->shards, (h->shard_count + 1) * sizeof(struct http_shard *));
		h->shards[h->shard_count] = shard_new(h);
		h->shard_count++;
	}
	while (h->shards[number % h->shard_count]->active >= h->shard_size)
		number++;
	struct http_shard *s = h->shards[number % h->shard_count];
	CURLMcode code = curl_multi_add_handle(s->multi, r->easy);

	if (code != CURLM_OK)
		return err_set(err, ERR_IO, "cannot start a transfer: %s", curl_multi_strerror(code));
	r->shard = s;
	s->active++;
	r->http->in_shards++;
	return 0;
}

void http_shard_remove(struct http_req *r)
{
	curl_multi_remove_handle(r->shard->multi, r->easy);
	r->shard->active--;
	r->http->in_shards--;
	r->shard = NULL;
}
