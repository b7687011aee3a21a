/* SPDX-License-Identifier: MIT
 * site.c - an MCP server over HTTP in a test. */
#include "site.h"
#include <time.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void note_request(struct site *s, const struct peer *p)
{
	size_t line = strcspn(p->head.p, "\r");

	pthread_mutex_lock(&s->lock);
	buf_add(&s->log, p->head.p, line - sizeof " HTTP/1.1" + 1);
	buf_addf(&s->log, " %s\n", p->body.n < 4096 && p->body.n ? p->body.p : "");
	if (s->count < COUNT_OF(s->times_ms))
		s->times_ms[s->count] = now_ms();
	s->count++;
	pthread_cond_broadcast(&s->has_seen);
	pthread_mutex_unlock(&s->lock);
}

static void serve(struct peer *p)
{
	struct site *s = p->data;

	while (peer_request(p)) {
		note_request(s, p);
		if (!s->answer(s, p))
			return;
	}
}

void site_start(struct site *s, bool (*answer)(struct site *site, struct peer *p))
{
	*s = (struct site){ .answer = answer };
	setenv("no_proxy", "127.0.0.1", 1);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->may_go, NULL);
	pthread_cond_init(&s->has_seen, NULL);
	s->server = server_start(serve, s, NULL);
	snprintf(s->url, sizeof s->url, "%smcp", server_url(s->server));
}

void site_stop(struct site *s)
{
	server_stop(s->server);
	pthread_cond_destroy(&s->may_go);
	pthread_cond_destroy(&s->has_seen);
	pthread_mutex_destroy(&s->lock);
	buf_release(&s->log);
}

bool site_saw(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	bool saw = str_has(buf_str(&s->log), str_from(text));
	pthread_mutex_unlock(&s->lock);
	return saw;
}

int site_times(struct site *s, const char *text)
{
	int count = 0;

	pthread_mutex_lock(&s->lock);
	for (const char *at = s->log.p; at && (at = strstr(at, text)); at++)
		count++;
	pthread_mutex_unlock(&s->lock);
	return count;
}

void site_await(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	while (!str_has(buf_str(&s->log), str_from(text)))
		pthread_cond_wait(&s->has_seen, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

unsigned site_count(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	unsigned count = s->count;
	pthread_mutex_unlock(&s->lock);
	return count;
}

void site_wait_go(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->go)
		pthread_cond_wait(&s->may_go, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void site_go(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	s->go = true;
	pthread_cond_broadcast(&s->may_go);
	pthread_mutex_unlock(&s->lock);
}

bool peer_is(const struct peer *p, const char *start)
{
	return str_starts(buf_str(&p->head), str_from(start));
}

bool peer_has(const struct peer *p, const char *text)
{
	return str_has(buf_str(&p->body), str_from(text));
}

const char *peer_header(const struct peer *p, const char *name, char *out, size_t room)
{
	struct str rest = buf_str(&p->head);

	size_t n = 0;
	out[0] = '\0';
	while (rest.p) {
		struct str value = str_cut(&rest, '\n');
		struct str its_name = str_cut(&value, ':');
		if (value.p && str_is_nocase(its_name, name))
			n += (size_t)snprintf(out + n, room - n, "%s" STR_FMT, n ? "," : "", STR_ARG(str_trim(value)));
	}
	return out;
}

void peer_reply(struct peer *p, const char *status, const char *headers, const char *body)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers, strlen(body), body);
	peer_send_n(p, b.p, b.n);
}

void peer_json(struct peer *p, const char *body)
{
	peer_reply(p, "200 OK", "Content-Type: application/json\r\n", body);
}

void peer_events(struct peer *p, const char *events)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "%zx\r\n%s\r\n", strlen(events), events);
	peer_send_n(p, b.p, b.n);
}

void peer_stream(struct peer *p, const char *events)
{
	peer_send(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
		     "Transfer-Encoding: chunked\r\n\r\n");
	if (events[0])
		peer_events(p, events);
}

void peer_stream_end(struct peer *p)
{
	peer_send(p, "0\r\n\r\n");
}
