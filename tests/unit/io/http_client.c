/* SPDX-License-Identifier: MIT
 * http_client.c - handlers that note everything. */
#include "http_client.h"
#include "unit.h"

static void on_head(struct http_req *r, int status)
{
	struct fetch *f = http_data(r);

	f->heads++;
	f->status = status;
}

static void on_header(struct http_req *r, struct str name, struct str value)
{
	struct fetch *f = http_data(r);

	CHECK_INT(f->heads, 0);
	buf_addf(&f->headers, STR_FMT "=" STR_FMT ";", STR_ARG(name), STR_ARG(value));
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct fetch *f = http_data(r);

	CHECK_INT(f->heads, 1);
	buf_addch(&f->pieces, '[');
	buf_add(&f->pieces, p, n);
	buf_addch(&f->pieces, ']');
	return f->on_data ? f->on_data(f) : true;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct fetch *f = http_data(r);

	f->dones++;
	f->error = error;
	snprintf(f->text, sizeof f->text, "%s", text);
	f->req = NULL;
	if (f->on_done)
		f->on_done(f);
}

static const struct http_handlers handlers = { on_head, on_header, on_data, on_done };

struct http_request fetch_get(const char *url)
{
	return (struct http_request){ .method = "GET", .url = url };
}

void fetch_start(struct fetch *f, struct http *h, const struct http_request *request)
{
	struct err err = { 0 };

	CHECK_INT(http_start(h, request, &handlers, f, &f->req, &err), 0);
	CHECK_INT(f->heads + f->dones, 0);
}

void fetch_release(struct fetch *f)
{
	buf_release(&f->headers);
	buf_release(&f->pieces);
}

void fetch_once(struct fetch *f, const struct http_request *request, const struct http_options *options)
{
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, options ? options : &(struct http_options){ 0 });

	f->loop = loop;
	fetch_start(f, h, request);
	loop_run(loop);
	CHECK_INT(f->dones, 1);
	CHECK_INT(h->active, 0);
	http_free(h);
	loop_free(loop);
}
