/* SPDX-License-Identifier: MIT
 * oauth_http.c - URLs, forms and requests of authorisation. A fetch that is freed while its transfer runs stays alive
 * until curl has released it. */
#include "mcp/auth/oauth_http.h"
#include <arpa/inet.h>
#include "lib/base/base64.h"
#include "lib/io/address.h"
#include "lib/io/url.h"

enum { LOOPBACK_NET = 127 };

int oauth_url_parse(struct arena *arena, const char *text, struct oauth_url *ret_url, struct err *err)
{
	struct in_addr address;
	struct url u;

	if (url_parse(arena, text, &u, err) < 0)
		return -ERR_USAGE;
	if (u.has_user)
		return err_set(err, ERR_USAGE, "a URL with a user name");
	if (u.has_fragment)
		return err_set(err, ERR_USAGE, "a URL with a fragment");
	const char *host = arena_lower(arena, str_from(u.host)).p;
	*ret_url = (struct oauth_url){
		.origin = arena_printf(arena, "%s://%s%s%s", u.scheme, host, u.usual_port ? "" : ":",
				       u.usual_port ? "" : u.port),
		.path = u.path,
		.https = !strcmp(u.scheme, "https"),
		.near = address_kind_of_host(str_from(host)) & (ADDRESS_LOOPBACK | ADDRESS_LINK | ADDRESS_OTHER),
		/* Secrets are sent there without https: only hosts that cannot be another machine. */
		.loopback = !strcmp(host, "localhost") || !strcmp(host, "[::1]") ||
			    (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == LOOPBACK_NET),
	};
	return 0;
}

int oauth_url_check(const char *text, bool loopback_allowed, const char *what, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_url url;

	if (oauth_url_parse(&arena, text, &url, err) < 0)
		return err_wrap(err, "%s %.100s", what, text);
	if (url.near && !loopback_allowed)
		return err_set(err, ERR_DENIED, "%s %.100s: the server is elsewhere and may not lead there", what,
			       text);
	if (url.https || (url.loopback && loopback_allowed))
		return 0;
	return err_set(err, ERR_DENIED, "%s %.100s: only https is allowed for authorisation", what, text);
}

bool oauth_same_origin(const char *a, const char *b)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_url x, y;

	return oauth_url_parse(&arena, a, &x, NULL) == 0 && oauth_url_parse(&arena, b, &y, NULL) == 0 &&
	       !strcmp(x.origin, y.origin);
}

bool oauth_url_covers(const char *resource, const char *url)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_url outer;
	struct oauth_url inner;

	if (oauth_url_parse(&arena, resource, &outer, NULL) < 0 || oauth_url_parse(&arena, url, &inner, NULL) < 0 ||
	    strcmp(outer.origin, inner.origin) != 0)
		return false;
	size_t n = strlen(outer.path);
	if (outer.path[n - 1] == '/')
		n--;
	return !strncmp(inner.path, outer.path, n) && (inner.path[n] == '\0' || inner.path[n] == '/');
}

void oauth_form_add(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	if (out->n && out->p[out->n - 1] != '?')
		buf_addch(out, '&');
	percent_encode(out, str_from(name), "");
	buf_addch(out, '=');
	percent_encode(out, str_from(value), "");
}

static struct str form_decode(struct arena *arena, struct str s)
{
	AUTO_BUF struct buf out = { 0 };
	char *encoded = arena_dup(arena, s.p, s.n);

	for (size_t i = 0; i < s.n; i++)
		encoded[i] = encoded[i] == '+' ? ' ' : encoded[i];
	percent_decode(&out, (struct str){ encoded, s.n });
	return arena_str(arena, buf_str(&out));
}

const char *oauth_form_get(struct arena *arena, struct str form, const char *name)
{
	while (form.p) {
		struct str value = str_cut(&form, '&');
		struct str key = str_cut(&value, '=');
		if (!str_is(form_decode(arena, key), name))
			continue;
		struct str decoded = form_decode(arena, value);
		return strlen(decoded.p) == decoded.n ? decoded.p : NULL;
	}
	return NULL;
}

enum { LIMIT_MS = 30 * 1000, STALL_MS = 15 * 1000, ANSWER_BYTES = 256 << 10, HOPS = 5, HEADERS = 4 };

struct oauth_fetch {
	struct loop *loop; /* borrowed */
	struct http *http; /* borrowed */
	void (*notify)(void *data);
	void *data;
	enum oauth_redirects redirects;
	struct http_req *req; /* NULL: none runs */
	uint64_t give_up_ms;
	bool over, abandoned;
	unsigned hops;
	struct arena arena; /* url and headers */
	const char *url, *location;
	const char *headers[HEADERS];
	struct buf body;
	bool is_post;
	int status;
	struct buf answer;
	struct err err;
};

static void fetch_release(struct oauth_fetch *f)
{
	buf_release(&f->answer);
	buf_release(&f->body);
	arena_release(&f->arena);
	free(f);
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct oauth_fetch *f = http_data(r);

	if (str_is_nocase(name, "Location"))
		f->location = arena_str(&f->arena, value).p;
}

static void fetch_begin(struct oauth_fetch *f);

/* Follows a redirect, as far as it is allowed. */
static bool fetch_redirect(struct oauth_fetch *f)
{
	struct oauth_url here;
	struct oauth_url there;

	if (f->is_post || f->status < 301 || f->status > 308 || !f->location || f->redirects == OAUTH_STAY ||
	    f->hops >= HOPS)
		return false;
	const char *url = url_resolve(&f->arena, f->url, f->location);
	if (!url || oauth_url_parse(&f->arena, f->url, &here, NULL) < 0 ||
	    oauth_url_parse(&f->arena, url, &there, NULL) < 0)
		return false;
	if (f->redirects == OAUTH_LOOPBACK ? !there.loopback : strcmp(here.origin, there.origin) != 0)
		return false;
	f->url = url;
	f->hops++;
	fetch_begin(f);
	return true;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct oauth_fetch *f = http_data(r);

	f->req = NULL;
	f->status = http_status(r);
	if (f->abandoned) {
		fetch_release(f);
		return;
	}
	if (error == HTTP_OK && fetch_redirect(f))
		return;
	if (error == HTTP_LATE)
		err_set(&f->err, ERR_TIMEOUT, "%.100s: no answer within %d s", f->url, LIMIT_MS / 1000);
	else if (error != HTTP_OK)
		err_set(&f->err, error == HTTP_TOO_LARGE ? ERR_LIMIT : ERR_IO, "%.100s: %s", f->url, text);
	f->over = true;
	f->notify(f->data);
}

static void fetch_begin(struct oauth_fetch *f)
{
	static const struct http_handlers handlers = { .on_header = on_header, .on_done = on_done };
	uint64_t now_ms = loop_now_ms(f->loop);
	struct http_request request = {
		.method = f->is_post ? "POST" : "GET",
		.url = f->url,
		.headers = f->headers,
		.text = buf_str(&f->body),
		.shard = http_pick_shard(f->http),
		.stall_ms = STALL_MS,
		.limit_ms = f->give_up_ms > now_ms ? f->give_up_ms - now_ms : 1,
		.limit_bytes = ANSWER_BYTES,
		.answer = &f->answer,
	};

	f->location = NULL;
	f->status = 0;
	buf_clear(&f->answer);
	if (http_start(f->http, &request, &handlers, f, &f->req, &f->err) < 0) {
		f->over = true;
		f->notify(f->data);
	}
}

struct oauth_fetch *oauth_fetch_start(struct loop *loop, struct http *http, const struct oauth_request *request,
				      void (*notify)(void *data), void *data)
{
	struct oauth_fetch *f = xnew(struct oauth_fetch, .loop = loop, .http = http, .notify = notify, .data = data,
				     .redirects = request->redirects);

	f->url = arena_strdup(&f->arena, request->url);
	f->is_post = request->body_type != NULL;
	buf_append(&f->body, request->body);
	size_t n = 0;
	f->headers[n++] = "Accept: application/json";
	if (request->body_type)
		f->headers[n++] = arena_printf(&f->arena, "Content-Type: %s", request->body_type);
	if (request->authorization)
		f->headers[n++] = arena_strdup(&f->arena, request->authorization);
	f->give_up_ms = loop_now_ms(loop) + LIMIT_MS;
	fetch_begin(f);
	return f;
}

void oauth_fetch_free(struct oauth_fetch *f)
{
	if (!f)
		return;
	if (!f->req) {
		fetch_release(f);
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
