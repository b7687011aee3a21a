/* SPDX-License-Identifier: MIT
 * oauth_fetch.c - one small HTTP request. A fetch that is freed while its transfer runs lives on until curl lets go of it. */
#include "mcp/auth/oauth_fetch.h"
#include "lib/io/url.h"
#include "mcp/auth/oauth_url.h"

enum { LIMIT_MS = 30 * 1000, STALL_MS = 15 * 1000, ANSWER_BYTES = 256 << 10, HOPS = 5, HEADERS = 4 };

struct oauth_fetch {
	struct loop *loop; /* borrowed */
	struct http *http; /* borrowed */
	void (*notify)(void *data);
	void *data;
	enum oauth_redirects redirects;
	struct http_req *req; /* NULL: none runs */
	struct timer limit;
	bool over, abandoned, late;
	unsigned hops;
	struct arena arena; /* url and headers */
	const char *url, *location;
	const char *headers[HEADERS];
	struct buf body;
	bool is_post;
	size_t sent;
	int status;
	struct buf answer;
	struct err err;
};

static void release(struct oauth_fetch *f)
{
	buf_release(&f->answer);
	buf_release(&f->body);
	arena_release(&f->arena);
	free(f);
}

static void end(struct oauth_fetch *f)
{
	timer_stop(f->loop, &f->limit);
	f->over = true;
	f->notify(f->data);
}

static size_t on_read(void *data, char *out, size_t room)
{
	struct oauth_fetch *f = data;
	size_t n = MIN(room, f->body.n - f->sent);

	memcpy(out, f->body.p + f->sent, n);
	f->sent += n;
	return n;
}

static void on_rewind(void *data)
{
	((struct oauth_fetch *)data)->sent = 0;
}

static void on_head(struct http_req *r, int status)
{
	((struct oauth_fetch *)http_data(r))->status = status;
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct oauth_fetch *f = http_data(r);

	if (str_is_nocase(name, "Location"))
		f->location = arena_str(&f->arena, value).p;
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct oauth_fetch *f = http_data(r);

	buf_add(&f->answer, p, n);
	return true;
}

/* The address of a redirect that may be followed; NULL: there is none. */
static const char *next_url(struct oauth_fetch *f)
{
	struct oauth_url here;
	struct oauth_url there;

	if (f->is_post || f->status < 301 || f->status > 308 || !f->location || f->redirects == OAUTH_STAY)
		return NULL;
	const char *url = url_resolve(&f->arena, f->url, f->location);
	if (!url || oauth_url_parse(&f->arena, f->url, &here, NULL) < 0 ||
	    oauth_url_parse(&f->arena, url, &there, NULL) < 0)
		return NULL;
	bool allowed = f->redirects == OAUTH_LOOPBACK ? there.loopback : !strcmp(here.origin, there.origin);
	return allowed && f->hops < HOPS ? url : NULL;
}

static void start(struct oauth_fetch *f);

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct oauth_fetch *f = http_data(r);

	f->req = NULL;
	if (f->abandoned) {
		release(f);
		return;
	}
	const char *next = error == HTTP_OK ? next_url(f) : NULL;
	if (next) {
		f->url = next;
		f->hops++;
		start(f);
		return;
	}
	if (f->late)
		err_set(&f->err, ERR_TIMEOUT, "%.100s: no answer within %d s", f->url, LIMIT_MS / 1000);
	else if (error != HTTP_OK)
		err_set(&f->err, error == HTTP_TOO_LARGE ? ERR_LIMIT : ERR_IO, "%.100s: %s", f->url, text);
	end(f);
}

static void start(struct oauth_fetch *f)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	struct http_request request = {
		.method = f->is_post ? "POST" : "GET",
		.url = f->url,
		.headers = f->headers,
		.body = { f->body.n, on_read, on_rewind },
		.body_data = f,
		.shard = http_pick_shard(f->http),
		.stall_ms = STALL_MS,
		.limit_bytes = ANSWER_BYTES,
	};

	f->location = NULL;
	f->status = 0;
	buf_clear(&f->answer);
	if (http_start(f->http, &request, &handlers, f, &f->req, &f->err) < 0)
		end(f);
}

static void on_limit(struct timer *timer)
{
	struct oauth_fetch *f = CONTAINER_OF(timer, struct oauth_fetch, limit);

	f->late = true;
	http_cancel(f->req);
}

static void set_headers(struct oauth_fetch *f, const struct oauth_request *request)
{
	size_t n = 0;

	f->headers[n++] = "Accept: application/json";
	if (request->body_type)
		f->headers[n++] = arena_printf(&f->arena, "Content-Type: %s", request->body_type);
	if (request->authorization)
		f->headers[n++] = arena_strdup(&f->arena, request->authorization);
}

struct oauth_fetch *oauth_fetch_start(struct loop *loop, struct http *http, const struct oauth_request *request,
				      void (*notify)(void *data), void *data)
{
	struct oauth_fetch *f = xcalloc(1, sizeof *f);

	f->loop = loop;
	f->http = http;
	f->notify = notify;
	f->data = data;
	f->redirects = request->redirects;
	f->url = arena_strdup(&f->arena, request->url);
	f->is_post = request->body_type != NULL;
	buf_add(&f->body, request->body.p, request->body.n);
	set_headers(f, request);
	f->limit.fire = on_limit;
	timer_start(loop, &f->limit, LIMIT_MS);
	start(f);
	return f;
}

void oauth_fetch_free(struct oauth_fetch *f)
{
	if (!f)
		return;
	timer_stop(f->loop, &f->limit);
	if (!f->req) {
		release(f);
		return;
	}
	f->abandoned = true;
	http_cancel(f->req);
}

bool oauth_fetch_over(const struct oauth_fetch *f)
{
	return f->over;
}

int oauth_fetch_answer(const struct oauth_fetch *f, int *ret_status, struct str *ret_body, struct err *err)
{
	if (f->err.kind)
		return err_set(err, f->err.kind, "%s", f->err.text);
	*ret_status = f->status;
	*ret_body = buf_str(&f->answer);
	return 0;
}
