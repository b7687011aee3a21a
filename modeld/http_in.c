/* SPDX-License-Identifier: MIT
 * http_in.c - the request parser. Strict where a mistake could hide bytes (length, chunks), lenient elsewhere. */
#include "http_in.h"

enum { LIMIT_HEAD = 64 * 1024, LIMIT_BODY = 33 << 20, LIMIT_CHUNK_LINE = 1024 };

static size_t fail(struct http_in *in, int status, const char *why)
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
		(void)fail(in, 400, "bad content-length");
	if (str_is_nocase(name, "transfer-encoding")) {
		h->chunked = str_is_nocase(value, "chunked");
		if (!h->chunked)
			(void)fail(in, 501, "unknown transfer-encoding");
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
		(void)fail(in, 400, "not an HTTP/1.1 request");
		return;
	}
	while (text.p && in->state != HTTP_IN_BAD) {
		struct str value = str_cut(&text, '\n');
		struct str name = str_cut(&value, ':');
		if (value.p)
			take_header(in, str_trim(name), str_trim(value));
	}
	if (in->state != HTTP_IN_BAD && in->head.length > LIMIT_BODY)
		(void)fail(in, 413, "the body is too large");
}

/* Bytes up to and including the empty line; 0: not all there. */
static size_t head_len(const char *p, size_t n)
{
	const char *end = memmem(p, n, "\r\n\r\n", 4);

	return end ? (size_t)(end - p) + 4 : 0;
}

static void done(struct http_in *in, struct str body)
{
	in->body = body;
	in->state = HTTP_IN_DONE;
}

static void begin_body(struct http_in *in)
{
	if (in->state == HTTP_IN_BAD)
		return;
	if (in->head.chunked) {
		in->state = HTTP_IN_CHUNK_SIZE;
	} else if (in->head.length) {
		in->state = HTTP_IN_BODY;
		buf_reserve(&in->body_bytes, in->head.length);
	} else {
		done(in, STR(""));
	}
}

/* The head is whole in p: it is kept only if its body is not there too. */
static size_t feed_head_in_place(struct http_in *in, const char *p, size_t n, size_t head)
{
	parse_head(in, (struct str){ p, head });
	if (in->state == HTTP_IN_BAD)
		return 0;
	if (!in->head.chunked && n - head >= in->head.length) {
		done(in, (struct str){ p + head, in->head.length });
		return head + in->head.length;
	}
	buf_add(&in->head_bytes, p, head);
	parse_head(in, buf_str(&in->head_bytes));
	begin_body(in);
	return head;
}

static size_t feed_head(struct http_in *in, const char *p, size_t n)
{
	size_t before = in->head_bytes.n;
	size_t head = before ? 0 : head_len(p, n);

	if (head)
		return feed_head_in_place(in, p, n, head);
	buf_add(&in->head_bytes, p, MIN(n, LIMIT_HEAD));
	head = head_len(in->head_bytes.p, in->head_bytes.n);
	if (!head)
		return in->head_bytes.n >= LIMIT_HEAD ? fail(in, 431, "the head is too large") : n;
	in->head_bytes.n = head;
	parse_head(in, buf_str(&in->head_bytes));
	begin_body(in);
	return head - before;
}

static size_t feed_body(struct http_in *in, const char *p, size_t n)
{
	n = MIN(n, in->head.length - in->body_bytes.n);
	buf_add(&in->body_bytes, p, n);
	if (in->body_bytes.n == in->head.length)
		done(in, buf_str(&in->body_bytes));
	return n;
}

static bool hex_number(struct str s, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = strchr(digits, s.p[i] | 0x20);
		if (!at || !s.p[i] || v >> 32)
			return false;
		v = v << 4 | (uint64_t)(at - digits);
	}
	*ret = v;
	return s.n > 0;
}

/* A line around a chunk, once it is whole. */
static size_t feed_line(struct http_in *in, const char *p, size_t n, struct str *ret_line)
{
	const char *end = memchr(p, '\n', n);

	*ret_line = (struct str){ 0 };
	if (!end && n < LIMIT_CHUNK_LINE)
		return 0;
	if (!end)
		return fail(in, 400, "bad chunk");
	*ret_line = str_trim((struct str){ p, (size_t)(end - p) + 1 });
	return (size_t)(end - p) + 1;
}

static size_t feed_chunk_size(struct http_in *in, const char *p, size_t n)
{
	struct str line;
	size_t took = feed_line(in, p, n, &line);

	if (!took)
		return 0;
	if (!hex_number(str_cut(&line, ';'), &in->chunk_left))
		return fail(in, 400, "bad chunk size");
	if (in->body_bytes.n + in->chunk_left > LIMIT_BODY)
		return fail(in, 413, "the body is too large");
	in->state = in->chunk_left ? HTTP_IN_CHUNK : HTTP_IN_TRAILER;
	return took;
}

static size_t feed_chunk(struct http_in *in, const char *p, size_t n)
{
	n = MIN(n, in->chunk_left);
	buf_add(&in->body_bytes, p, n);
	in->chunk_left -= n;
	if (!in->chunk_left)
		in->state = HTTP_IN_CHUNK_END;
	return n;
}

static size_t feed_chunk_end(struct http_in *in, const char *p, size_t n)
{
	struct str line;
	size_t took = feed_line(in, p, n, &line);

	if (took && line.n)
		return fail(in, 400, "bad chunk end");
	if (took)
		in->state = HTTP_IN_CHUNK_SIZE;
	return took;
}

static size_t feed_trailer(struct http_in *in, const char *p, size_t n)
{
	struct str line;
	size_t took = feed_line(in, p, n, &line);

	if (took && !line.n)
		done(in, buf_str(&in->body_bytes));
	return took;
}

size_t http_in_feed(struct http_in *in, const char *p, size_t n)
{
	static size_t (*const feed[])(struct http_in *, const char *, size_t) = {
		[HTTP_IN_HEAD] = feed_head,
		[HTTP_IN_BODY] = feed_body,
		[HTTP_IN_CHUNK_SIZE] = feed_chunk_size,
		[HTTP_IN_CHUNK] = feed_chunk,
		[HTTP_IN_CHUNK_END] = feed_chunk_end,
		[HTTP_IN_TRAILER] = feed_trailer,
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
