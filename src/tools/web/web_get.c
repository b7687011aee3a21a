/* SPDX-License-Identifier: MIT
 * web_get.c - one request for one address. */
#include "tools/web/web_get.h"

enum { STALL_MS = 20000, HEADER_VALUE_LIMIT = 8192 };

static void keep(struct buf *out, struct str value)
{
	buf_clear(out);
	buf_add(out, value.p, MIN(value.n, (size_t)HEADER_VALUE_LIMIT));
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct web_get *g = http_data(r);

	if (str_is_nocase(name, "content-type"))
		keep(&g->type, value);
	else if (str_is_nocase(name, "location"))
		keep(&g->location, value);
}

static void on_head(struct http_req *r, int status)
{
	struct web_get *g = http_data(r);

	g->status = status;
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct web_get *g = http_data(r);

	buf_add(&g->body, p, n);
	return true;
}

static enum err_kind kind_of(enum http_error error)
{
	switch (error) {
	case HTTP_OK:
		return 0;
	case HTTP_TOO_LARGE:
		return ERR_LIMIT;
	case HTTP_DENIED:
		return ERR_DENIED;
	case HTTP_STALLED:
		return ERR_TIMEOUT;
	case HTTP_CANCELLED:
		return ERR_CANCELLED;
	default:
		return ERR_IO;
	}
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct web_get *g = http_data(r);

	g->req = NULL;
	timer_stop(g->loop, &g->limit);
	g->failure = g->late ? ERR_TIMEOUT : kind_of(error);
	snprintf(g->why, sizeof g->why, "%s", g->late ? "it took too long" : text);
	g->done(g);
}

static void on_limit(struct timer *timer)
{
	struct web_get *g = CONTAINER_OF(timer, struct web_get, limit);

	g->late = true;
	http_cancel(g->req);
}

int web_get_start(struct web_get *g, struct web *web, const char *url, unsigned refused, uint64_t limit_ms,
		  struct err *err)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	static const char *const headers[] = { "Accept: text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
					       NULL };
	struct http_request request = { .method = "GET",
					.url = url,
					.headers = headers,
					.stall_ms = MIN(limit_ms, (uint64_t)STALL_MS),
					.limit_bytes = WEB_GET_LIMIT_BYTES,
					.unpacks = true,
					.refused = refused };

	web_get_release(g);
	g->loop = web->loop;
	int rc = http_start(web->http, &request, &handlers, g, &g->req, err);
	if (rc < 0)
		return rc;
	g->limit.fire = on_limit;
	timer_start(g->loop, &g->limit, limit_ms);
	return 0;
}

void web_get_cancel(struct web_get *g)
{
	if (g->req)
		http_cancel(g->req);
}

void web_get_release(struct web_get *g)
{
	buf_release(&g->type);
	buf_release(&g->location);
	buf_release(&g->body);
	*g = (struct web_get){ .done = g->done };
}
