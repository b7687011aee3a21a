/* SPDX-License-Identifier: MIT
 * download.c - one file over http, on a loop of its own. */
#include "defs/plugin/fetch.h"
#include "lib/io/address.h"
#include "lib/io/http.h"
#include "lib/io/url.h"

enum { MOST_REDIRECTS = 5 };

struct transfer {
	struct loop *loop;
	struct buf *out;
	size_t from; /* where its bytes begin in out */
	int status;
	struct buf location; /* the header of a redirect */
	bool over;
	enum http_error error;
	char why[200];
};

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct transfer *t = http_data(r);

	if (!str_is_nocase(name, "location"))
		return;
	buf_clear(&t->location);
	buf_append(&t->location, value);
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct transfer *t = http_data(r);

	t->error = error;
	t->status = http_status(r);
	snprintf(t->why, sizeof t->why, "%s", text ? text : "");
	t->over = true;
	loop_stop(t->loop);
}

static int transfer_run(struct transfer *t, struct http *h, const char *url, size_t limit_bytes, struct err *err)
{
	static const struct http_handlers handlers = { .on_header = on_header, .on_done = on_done };
	AUTO_ARENA struct arena a = { 0 };
	struct http_req *r;

	for (unsigned i = 0;; i++) {
		struct url u;
		if (url_parse(&a, url, &u, err) < 0 ||
		    (strcmp(u.scheme, "https") != 0 && address_kind_of_host(str_from(u.host)) != ADDRESS_LOOPBACK))
			return err_set(err, ERR_USAGE, "not an https URL: %.120s", url);
		t->out->n = t->from;
		t->over = false;
		buf_clear(&t->location);
		struct http_request request = {
			.method = "GET", .url = url, .limit_bytes = limit_bytes, .answer = t->out
		};
		int rc = http_start(h, &request, &handlers, t, &r, err);
		if (rc < 0)
			return rc;
		while (!t->over)
			loop_run(t->loop);
		bool redirected = t->status >= 301 && t->status <= 308 && t->status != 304 && t->location.n;
		if (t->error || !redirected || i == MOST_REDIRECTS)
			break;
		const char *next = url_resolve(&a, url, t->location.p);
		url = next ? next : arena_strdup(&a, t->location.p);
	}
	if (t->error == HTTP_TOO_LARGE)
		return err_set(err, ERR_LIMIT, "is too large");
	if (t->error)
		return err_set(err, ERR_IO, "%s", t->why);
	if (t->status != 200)
		return err_set(err, t->status == 404 ? ERR_NOT_FOUND : ERR_IO, "the server answered with status %d",
			       t->status);
	return 0;
}

int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct transfer t = { .loop = loop_new(0), .out = out, .from = out->n };
	struct http *h = http_new(t.loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION }, err);
	int status = transfer_run(&t, h, url, limit_bytes, err);

	http_free(h);
	buf_release(&t.location);
	loop_run(t.loop); /* lets closing handles close */
	loop_free(t.loop);
	return status;
}
