/* SPDX-License-Identifier: MIT
 * http_host.c - what requests to the same host wait for: one look-up of its name, and their turn to send a large body.
 *
 * libcurl starts a resolver thread for each transfer that does not find its name in the cache, so a hundred requests to
 * a new name would start a hundred threads. The first request becomes the leader of its host and goes; the others wait
 * until it has a connection. If it really asked the resolver, all may go now; if not (it took an idle connection, or an
 * entry of the cache whose age we do not know), the next one leads. A name that does not resolve fails all waiting
 * requests.
 *
 * libcurl holds a send buffer while a body is being sent. A thousand forks of a long conversation would hold a thousand
 * of them, although the network sends no faster than with a few. So only so many large bodies go to a host at a
 * time, and the others wait in the order of their start. */
#include "lib/io/http_int.h"
#include <arpa/inet.h>
#include "lib/base/list.h"

/* A smaller body goes into the buffer of the socket, so that its send buffer is dropped at once. */
enum { LARGE_BODY_BYTES = 64 << 10 };

struct http_host *http_host_get(struct http *h, const char *name, const char *port)
{
	AUTO_BUF struct buf key = { 0 };
	struct in_addr address;

	buf_addf(&key, "%s:%s", name, port);
	struct http_host *host = map_get(&h->hosts, buf_str(&key));
	if (!host) {
		host = xcalloc(1, sizeof *host);
		host->is_address = name[0] == '[' || inet_pton(AF_INET, name, &address) == 1;
		host->for_name.last = &host->for_name.first;
		host->to_send.last = &host->to_send.first;
		map_set(&h->hosts, buf_str(&key), host);
	}
	return host;
}

void http_host_free_all(struct http *h)
{
	for (struct map_entry *e = map_next(&h->hosts, NULL); e; e = map_next(&h->hosts, e))
		free(e->value);
	map_release(&h->hosts);
}

static void queue_add(struct http_queue *queue, struct http_req *r)
{
	r->queue = queue;
	list_append(&queue->last, r);
}

static void queue_remove(struct http_req *r)
{
	if (!r->queue)
		return;
	list_remove_from(&r->queue->last, r);
	r->queue = NULL;
}

static void queue_fail(struct http_queue *queue, enum http_error error, const char *text)
{
	while (queue->first) {
		struct http_req *r = queue->first;
		queue_remove(r);
		http_req_fail(r, error, "%s", text);
	}
}

bool http_host_enter_upload(struct http_req *r)
{
	struct http_host *host = r->host;

	if (r->uploads || r->body.size <= LARGE_BODY_BYTES)
		return true;
	if (host->uploads >= r->http->most_uploads) {
		queue_add(&host->to_send, r);
		return false;
	}
	r->uploads = true;
	host->uploads++;
	return true;
}

void http_host_sent(struct http_req *r)
{
	struct http_host *host = r->host;

	if (!r->uploads)
		return;
	r->uploads = false;
	host->uploads--;
	struct http_req *next = host->to_send.first;
	if (!next)
		return;
	queue_remove(next);
	next->uploads = true; /* or one that starts now could come first */
	host->uploads++;
	loop_kick(next->http->loop, &next->kick);
}

static bool is_fresh(const struct http_req *r)
{
	return loop_now_ms(r->http->loop) < r->host->fresh_until_ms;
}

bool http_host_enter(struct http_req *r)
{
	if (r->host->is_address || is_fresh(r))
		return true;
	if (!r->host->leader) {
		r->host->leader = r;
		return true;
	}
	queue_add(&r->host->for_name, r);
	return false;
}

/* Lets the next request enter, or all of them when the name is resolved. */
static void host_wake(struct http_host *host, bool all)
{
	while (host->for_name.first && !host->leader) {
		struct http_req *r = host->for_name.first;
		queue_remove(r);
		loop_kick(r->http->loop, &r->kick);
		if (!all)
			return;
	}
}

void http_host_ready(struct http_req *r)
{
	struct http_host *host = r->host;

	if (host->leader != r)
		return;
	host->leader = NULL;
	if (r->looked_up)
		host->fresh_until_ms = loop_now_ms(r->http->loop) + DNS_TRUST_MS;
	host_wake(host, is_fresh(r));
}

void http_host_leave(struct http_req *r, enum http_error error, const char *text)
{
	struct http_host *host = r->host;

	queue_remove(r);
	if (host->leader == r)
		host->leader = NULL;
	if (error == HTTP_RESOLVE) {
		queue_fail(&host->for_name, error, text);
		queue_fail(&host->to_send, error, text);
	}
	/* r may have been woken to lead, or to send, and cancelled before it could. */
	host_wake(host, is_fresh(r));
	http_host_sent(r);
}
