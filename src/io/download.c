/* SPDX-License-Identifier: MIT
 * download.c - see download.h. */
#include "io/download.h"
#include <curl/curl.h>
#include "io/address.h"
#include "io/http.h"

enum { MOST_REDIRECTS = 5 };

struct transfer {
	struct loop *loop;
	struct buf *out;
	size_t from; /* where its bytes begin in out */
	int status;
	struct buf location; /* where else it is, as the server says it */
	bool over;
	enum http_error error;
	char why[200];
};

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static bool part_is(CURLU *u, CURLUPart part, const char *value)
{
	char *text = NULL;
	bool same = curl_url_get(u, part, &text, 0) == CURLUE_OK && !strcasecmp(text, value);

	curl_free(text);
	return same;
}

static bool is_here(CURLU *u)
{
	char *host = NULL;
	bool here = curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		    address_kind_of_host(str_from(host)) == ADDRESS_LOOPBACK;

	curl_free(host);
	return here;
}

/* A relative address is taken from the one before it. *ret_url is to be freed by curl_free. */
static int go_to(CURLU *u, const char *url, char **ret_url, struct err *err)
{
	bool good = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
		    (part_is(u, CURLUPART_SCHEME, "https") || (part_is(u, CURLUPART_SCHEME, "http") && is_here(u)));

	if (!good || curl_url_get(u, CURLUPART_URL, ret_url, 0) != CURLUE_OK)
		return err_set(err, ERR_USAGE, "%.120s is no address that begins with https://", url);
	return 0;
}

/* ---- one answer -------------------------------------------------------------------------------------------------- */

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct transfer *t = http_data(r);

	if (!str_is_nocase(name, "location"))
		return;
	buf_clear(&t->location);
	buf_add(&t->location, value.p, value.n);
}

static void on_head(struct http_req *r, int status)
{
	struct transfer *t = http_data(r);

	t->status = status;
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct transfer *t = http_data(r);

	if (t->status == 200)
		buf_add(t->out, p, n);
	return true;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct transfer *t = http_data(r);

	t->error = error;
	snprintf(t->why, sizeof t->why, "%s", text ? text : "");
	t->over = true;
	loop_stop(t->loop);
}

static int get(struct http *h, const char *url, size_t limit_bytes, struct transfer *t, struct err *err)
{
	static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };
	struct http_req *r;

	t->out->n = t->from;
	t->over = false;
	t->status = 0;
	buf_clear(&t->location);
	int status = http_start(h, &(struct http_request){ .method = "GET", .url = url, .limit_bytes = limit_bytes },
				&handlers, t, &r, err);
	while (status == 0 && !t->over)
		loop_run(t->loop);
	return status;
}

static int result(const struct transfer *t, struct err *err)
{
	if (t->error == HTTP_TOO_LARGE)
		return err_set(err, ERR_LIMIT, "is too large");
	if (t->error)
		return err_set(err, ERR_IO, "%s", t->why);
	if (t->status != 200)
		return err_set(err, t->status == 404 ? ERR_NOT_FOUND : ERR_IO, "the server answers with %d", t->status);
	return 0;
}

static bool is_redirected(const struct transfer *t)
{
	return !t->error && t->status >= 301 && t->status <= 308 && t->status != 304 && t->location.n;
}

static int follow(struct http *h, const char *url, size_t limit_bytes, struct transfer *t, struct err *err)
{
	CURLU *u = curl_url();
	char *at = NULL;
	int status = go_to(u, url, &at, err);

	for (unsigned i = 0; status == 0; i++) {
		status = get(h, at, limit_bytes, t, err);
		if (status < 0 || !is_redirected(t) || i == MOST_REDIRECTS)
			break;
		curl_free(TAKE(at));
		status = go_to(u, t->location.p, &at, err);
	}
	if (status == 0)
		status = result(t, err);
	curl_free(at);
	curl_url_cleanup(u);
	return status;
}

int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct transfer t = { .loop = loop_new(0), .out = out, .from = out->n };
	struct http *h = http_new(t.loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION }, err);
	int status = h ? follow(h, url, limit_bytes, &t, err) : -(int)err->kind;

	http_free(h);
	buf_release(&t.location);
	loop_run(t.loop); /* lets closing handles close */
	loop_free(t.loop);
	return status;
}
