/* SPDX-License-Identifier: MIT
 * http_host.c - one look-up of a name before a fan-out.
 *
 * libcurl starts a resolver thread for each transfer that does not find its name in the cache, so a hundred requests to
 * a new name would start a hundred threads. The first request becomes the leader of its host and goes; the others wait
 * until it has a connection. If it really asked the resolver, all may go now; if not (it took an idle connection, or an
 * entry of the cache whose age we do not know), the next one leads. A name that does not resolve fails all waiting
 * requests. */
#include "lib/io/http_int.h"
#include <arpa/inet.h>

struct http_host *http_host_get(struct http *h, const char *name, const char *port)
{
	AUTO_BUF struct buf key = { 0 };
	struct in_addr address;

	if (name[0] == '[' || inet_pton(AF_INET, name, &address) == 1)
		return NULL;
	buf_addf(&key, "%s:%s", name, port);
	struct http_host *host = map_get(&h->hosts, buf_str(&key));
	if (!host) {
		host = xcalloc(1, sizeof *host);
		host->last = &host->first;
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

static void queue_remove(struct http_host *host, struct http_req *r)
{
	*r->prev = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		host->last = r->prev;
	r->prev = NULL;
}

static bool is_fresh(const struct http_req *r)
{
	return loop_now_ms(r->http->loop) < r->host->fresh_until_ms;
}

bool http_host_enter(struct http_req *r)
{
	if (!r->host || is_fresh(r))
		return true;
	if (!r->host->leader) {
		r->host->leader = r;
		return true;
	}
	struct http_host *host = r->host;
	r->next = NULL;
	r->prev = host->last;
	*host->last = r;
	host->last = &r->next;
	return false;
}

/* Lets the next request enter, or all of them when the name is resolved. */
static void host_wake(struct http_host *host, bool all)
{
	while (host->first && !host->leader) {
		struct http_req *r = host->first;
		queue_remove(host, r);
		loop_kick(r->http->loop, &r->kick);
		if (!all)
			return;
	}
}

void http_host_ready(struct http_req *r)
{
	struct http_host *host = r->host;

	if (!host || host->leader != r)
		return;
	host->leader = NULL;
	if (r->looked_up)
		host->fresh_until_ms = loop_now_ms(r->http->loop) + DNS_TRUST_MS;
	host_wake(host, is_fresh(r));
}

void http_host_leave(struct http_req *r, enum http_error error, const char *text)
{
	struct http_host *host = r->host;

	if (!host)
		return;
	if (r->prev)
		queue_remove(host, r);
	if (host->leader == r)
		host->leader = NULL;
	if (error == HTTP_RESOLVE) {
		while (host->first) {
			struct http_req *waiting = host->first;
			queue_remove(host, waiting);
			http_req_fail(waiting, HTTP_RESOLVE, "%s", text);
		}
	}
	/* r may have been woken to lead and cancelled before it could. */
	host_wake(host, is_fresh(r));
}
