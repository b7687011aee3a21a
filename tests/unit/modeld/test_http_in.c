/* SPDX-License-Identifier: MIT
 * test_http_in.c - requests out of bytes, however the bytes are cut. */
#include "http_in.h"
#include "test_modeld.h"

static const char two_requests[] = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-Cadre-Agent: Explore\r\n"
				   "X-API-Key: k\r\ncontent-length: 5\r\n\r\nhello"
				   "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
				   "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";

/* What the requests were, as "METHOD PATH AGENT BODY|"; each feed gets at most step new bytes, as a socket would give them. */
static void read_all(const char *bytes, size_t step, struct buf *out)
{
	struct http_in in = { 0 };
	AUTO_BUF struct buf ahead = { 0 };
	size_t n = strlen(bytes);

	for (size_t at = 0; at < n; at += step) {
		buf_add(&ahead, bytes + at, MIN(step, n - at));
		for (size_t took = 1; took && ahead.n && in.state != HTTP_IN_BAD;) {
			/* An exact copy: ASan sees a read behind the end. */
			AUTO_FREE char *exact = xmalloc(ahead.n);
			memcpy(exact, ahead.p, ahead.n);
			took = http_in_feed(&in, exact, ahead.n);
			if (in.state == HTTP_IN_DONE) {
				buf_addf(out, STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT "%s|",
					 STR_ARG(in.head.method), STR_ARG(in.head.path), STR_ARG(in.head.agent),
					 STR_ARG(in.body), in.head.close ? " close" : "");
				http_in_next(&in);
			}
			buf_drop(&ahead, took);
		}
	}
	if (in.state == HTTP_IN_BAD)
		buf_addf(out, "%d %s", in.status, in.why);
	http_in_next(&in);
}

TEST(requests_are_read_wherever_the_bytes_are_cut)
{
	for (size_t step = 1; step <= sizeof two_requests; step++) {
		AUTO_BUF struct buf out = { 0 };

		read_all(two_requests, step, &out);

		CHECK_STR(buf_str(&out), "POST /v1/messages?beta=true Explore hello|POST /b  abc0123456789 close|");
	}
}

TEST(a_request_that_is_whole_is_not_copied)
{
	struct http_in in = { 0 };

	size_t n = http_in_feed(&in, two_requests, sizeof two_requests - 1);

	CHECK_INT(in.state, HTTP_IN_DONE);
	CHECK(in.body.p > two_requests && in.body.p < two_requests + n);
	CHECK(str_starts(str_from(two_requests + n), STR("POST /b")));
	CHECK(in.head.has_key);
	CHECK(!in.head_bytes.p && !in.body_bytes.p);
	http_in_next(&in);
}

TEST(what_is_no_request_is_refused)
{
	static const struct {
		const char *bytes, *error;
	} cases[] = {
		{ "hello\r\n\r\n", "400 not an HTTP/1.1 request" },
		{ "GET / HTTP/1.0\r\n\r\n", "400 not an HTTP/1.1 request" },
		{ "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", "400 bad content-length" },
		{ "POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", "413 the body is too large" },
		{ "POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", "501 unknown transfer-encoding" },
		{ "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", "400 bad chunk size" },
		{ "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\r\n", "400 bad chunk size" },
		{ "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n9999999\r\n", "413 the body is too large" },
		{ "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "400 bad chunk end" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf out = { 0 };
		read_all(cases[i].bytes, i % 2 ? 3 : 1000, &out);
		CHECK_STR(buf_str(&out), cases[i].error);
	}
}

TEST(a_head_without_end_is_refused)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_BUF struct buf out = { 0 };

	buf_addstr(&bytes, "GET / HTTP/1.1\r\n");
	while (bytes.n < 70000)
		buf_addstr(&bytes, "a: b\r\n");
	read_all(bytes.p, 1000, &out);

	CHECK_STR(buf_str(&out), "431 the head is too large");
}

int http_in_tests(void)
{
	return RUN_TESTS(T(requests_are_read_wherever_the_bytes_are_cut), T(a_request_that_is_whole_is_not_copied),
			 T(what_is_no_request_is_refused), T(a_head_without_end_is_refused));
}
