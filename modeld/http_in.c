/* SPDX-License-Identifier: MIT
 * http_in.c - the request parser. Strict where a mistake could hide bytes (length, chunks), lenient elsewhere. */
#include "http_in.h"

enum { LIMIT_HEAD = 64 * 1024, LIMIT_BODY = 33 << 20, LIMIT_CHUNK_LINE = 1024 };

static size_t http_in_fail(struct http_in *in, int status, const char *why)
{
	in->state = HTTP_IN_BAD;
	in->status = status;
	in->why = why;
	return 0;
}

void http_in_next(struct http_in *in)
{
	buf_release(&in->head_bytes);
	buf_release(&in->body_bytes);
	*in = (struct http_in){ 0 };
}

static void take_header(struct http_in *in, struct str name, struct str value)
{
	struct http_request_head *h = &in->head;
	const struct {
		const char *name;
		struct str *slice;
	} kept[] = {
		{ "x-cadre-agent", &h->agent },   { "anthropic-version", &h->version },
		{ "anthropic-beta", &h->beta },   { "content-type", &h->content_type },
		{ "user-agent", &h->user_agent },
	};

	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (str_is_nocase(name, kept[i].name))
			*kept[i].slice = value;
	if (str_is_nocase(name, "content-length") && !str_to_u64(value, &h->length))
		(void)http_in_fail(in, 400, "bad content-length");
	if (str_is_nocase(name, "transfer-encoding")) {
		h->chunked = str_is_nocase(value, "chunked");
		if (!h->chunked)
			(void)http_in_fail(in, 501, "unknown transfer-encoding");
	}
	if (str_is_nocase(name, "connection"))
		h->close = str_is_nocase(value, "close");
	if (str_is_nocase(name, "expect"))
		h->expect = str_is_nocase(value, "100-continue");
	if (str_is_nocase(name, "x-api-key") || str_is_nocase(name, "authorization"))
		h->has_key = true;
}

static void parse_head(struct http_in *in, struct str text)
{
	struct str line = str_trim(str_cut(&text, '\n'));

	in->head = (struct http_request_head){ 0 };
	in->head.method = str_cut(&line, ' ');
	in->head.path = str_cut(&line, ' ');
	if (!in->head.path.n || in->head.path.p[0] != '/' || !str_is(line, "HTTP/1.1")) {
		(void)http_in_fail(in, 400, "not an HTTP/1.1 request");
		return;
	}
	while (text.p && in->state != HTTP_IN_BAD) {
		struct str value = str_cut(&text, '\n');
		struct str name = str_cut(&value, ':');
		if (value.p)
			take_header(in, str_trim(name), str_trim(value));
	}
	if (in->state != HTTP_IN_BAD && in->head.length > LIMIT_BODY)
		(void)http_in_fail(in, 413, "the body is too large");
}

static void http_in_done(struct http_in *in, struct str body)
{
	in->body = body;
	in->state = HTTP_IN_DONE;
}

static size_t feed_head(struct http_in *in, const char *p, size_t n)
{
	size_t before = in->head_bytes.n;
	const char *end = before ? NULL : memmem(p, n, "\r\n\r\n", 4);
	size_t head = end ? (size_t)(end - p) + 4 : 0;

	if (head) { /* it is whole in p, and kept only if its body is not there too */
		parse_head(in, (struct str){ p, head });
		if (in->state == HTTP_IN_BAD)
			return 0;
		if (!in->head.chunked && n - head >= in->head.length) {
			http_in_done(in, (struct str){ p + head, in->head.length });
			return head + in->head.length;
		}
		buf_add(&in->head_bytes, p, head);
	} else {
		buf_add(&in->head_bytes, p, MIN(n, LIMIT_HEAD));
		end = memmem(in->head_bytes.p, in->head_bytes.n, "\r\n\r\n", 4);
		if (!end)
			return in->head_bytes.n >= LIMIT_HEAD ? http_in_fail(in, 431, "the head is too large") : n;
		head = in->head_bytes.n = (size_t)(end - in->head_bytes.p) + 4;
	}
	parse_head(in, buf_str(&in->head_bytes));
	if (in->state == HTTP_IN_BAD) {
		return head - before;
	} else if (in->head.chunked) {
		in->state = HTTP_IN_CHUNK_SIZE;
	} else if (in->head.length) {
		in->state = HTTP_IN_BODY;
		buf_reserve(&in->body_bytes, in->head.length);
	} else {
		http_in_done(in, STR(""));
	}
	return head - before;
}

/* Bytes of a body of known length, or of one chunk */
static size_t feed_bytes(struct http_in *in, const char *p, size_t n)
{
	bool chunk = in->state == HTTP_IN_CHUNK;

	n = MIN(n, chunk ? in->chunk_left : in->head.length - in->body_bytes.n);
	buf_add(&in->body_bytes, p, n);
	if (chunk && !(in->chunk_left -= n))
		in->state = HTTP_IN_CHUNK_END;
	else if (!chunk && in->body_bytes.n == in->head.length)
		http_in_done(in, buf_str(&in->body_bytes));
	return n;
}

/* A line around a chunk, once it is whole. */
static size_t feed_line(struct http_in *in, const char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *end = memchr(p, '\n', n);
	uint64_t size = 0;

	if (!end)
		return n < LIMIT_CHUNK_LINE ? 0 : http_in_fail(in, 400, "bad chunk");
	size_t took = (size_t)(end - p) + 1;
	struct str line = str_trim((struct str){ p, took });
	if (in->state == HTTP_IN_TRAILER) {
		if (!line.n)
			http_in_done(in, buf_str(&in->body_bytes));
		return took;
	}
	if (in->state == HTTP_IN_CHUNK_END) {
		in->state = HTTP_IN_CHUNK_SIZE;
		return line.n ? http_in_fail(in, 400, "bad chunk end") : took;
	}
	struct str number = str_cut(&line, ';');
	for (size_t i = 0; i < number.n; i++) {
		const char *at = number.p[i] ? strchr(digits, number.p[i] | 0x20) : NULL;
		if (!at || size >> 32)
			return http_in_fail(in, 400, "bad chunk size");
		size = size << 4 | (uint64_t)(at - digits);
	}
	if (!number.n)
		return http_in_fail(in, 400, "bad chunk size");
	if (in->body_bytes.n + size > LIMIT_BODY)
		return http_in_fail(in, 413, "the body is too large");
	in->chunk_left = size;
	in->state = size ? HTTP_IN_CHUNK : HTTP_IN_TRAILER;
	return took;
}

size_t http_in_feed(struct http_in *in, const char *p, size_t n)
{
	static size_t (*const feed[])(struct http_in *, const char *, size_t) = {
		[HTTP_IN_HEAD] = feed_head,   [HTTP_IN_BODY] = feed_bytes,     [HTTP_IN_CHUNK_SIZE] = feed_line,
		[HTTP_IN_CHUNK] = feed_bytes, [HTTP_IN_CHUNK_END] = feed_line, [HTTP_IN_TRAILER] = feed_line,
	};
	size_t took = 0;

	while (in->state < HTTP_IN_DONE && took < n) {
		size_t more = feed[in->state](in, p + took, n - took);
		if (!more)
			break;
		took += more;
	}
	return took;
}
