/* SPDX-License-Identifier: MIT
 * test_http.c - one request in plain text: its answer, every way to fail, back-pressure. */
#include "test_io.h"
#include <semaphore.h>
#include <zlib.h>
#include "http_client.h"
#include "http_server.h"
#include "lib/io/address.h"
#include "unit.h"

static void serve_two_pieces(struct peer *p)
{
	sem_t *first_seen = p->data;

	peer_request(p);
	peer_send(p, "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nX-Empty:\r\nContent-Length: 6\r\n\r\none");
	sem_wait(first_seen);
	peer_send(p, "two");
	peer_wait_gone(p);
}

static bool post_semaphore(struct fetch *f)
{
	sem_post(f->data);
	return true;
}

TEST(an_answer_is_handed_over_piece_by_piece_as_it_comes)
{
	sem_t first_seen;
	sem_init(&first_seen, 0, 0);
	struct server *s = server_start(serve_two_pieces, &first_seen, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { .on_data = post_semaphore, .data = &first_seen };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OK);
	CHECK_CSTR(f.text, "");
	CHECK_INT(f.status, 201);
	CHECK_INT(f.heads, 1);
	CHECK_STR(buf_str(&f.headers), "Content-Type=text/plain;X-Empty=;Content-Length=6;");
	CHECK_STR(buf_str(&f.pieces), "[one][two]");
	server_stop(s);
	sem_destroy(&first_seen);
	fetch_release(&f);
}

static void serve_interim(struct peer *p)
{
	peer_request(p);
	peer_send(p, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
		     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		     "2\r\nhi\r\n0\r\nTrailer: late\r\n\r\n");
	peer_wait_gone(p);
}

TEST(interim_answers_and_trailers_are_not_reported)
{
	struct server *s = server_start(serve_interim, NULL, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { 0 };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OK);
	CHECK_INT(f.status, 200);
	CHECK_INT(f.heads, 1);
	CHECK_STR(buf_str(&f.headers), "Transfer-Encoding=chunked;");
	CHECK_STR(buf_str(&f.pieces), "[hi]");
	server_stop(s);
	fetch_release(&f);
}

TEST(the_next_request_uses_the_same_connection)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });

	for (int i = 0; i < 5; i++) {
		struct fetch f = { 0 };
		fetch_start(&f, h, &request);
		loop_run(loop);
		CHECK_STR(buf_str(&f.pieces), "[hello]");
		fetch_release(&f);
	}

	CHECK_INT(server_connections(s), 1);
	http_free(h);
	loop_free(loop);
	server_stop(s);
}

static void serve_what_it_is_told(struct peer *p)
{
	peer_request(p);
	peer_send(p, p->data);
}

static void serve_reset(struct peer *p)
{
	peer_request(p);
	peer_send(p, p->data);
	peer_reset(p);
}

TEST(a_connection_that_ends_before_its_answer_does_is_a_reset)
{
	static const struct {
		serve_fn *serve;
		const char *sent;
	} table[] = {
		{ serve_what_it_is_told, "" },
		{ serve_what_it_is_told, "HTTP/1.1 200 OK\r\nContent-" },
		{ serve_what_it_is_told, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" },
		{ serve_what_it_is_told, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
		{ serve_what_it_is_told, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n" },
		{ serve_what_it_is_told, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf" },
		{ serve_reset, "" },
		{ serve_reset, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct server *s = server_start(table[i].serve, (void *)(uintptr_t)table[i].sent, NULL);
		struct http_request request = fetch_get(server_url(s));
		struct fetch f = { 0 };
		fetch_once(&f, &request, NULL);
		CHECK_INT(f.error, HTTP_RESET);
		CHECK(f.text[0]);
		server_stop(s);
		fetch_release(&f);
	}
}

TEST(an_answer_that_is_not_http_is_an_error)
{
	char garbage[] = "+OK ready\r\n\r\n";
	struct server *s = server_start(serve_what_it_is_told, garbage, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { 0 };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OTHER);
	CHECK_INT(f.heads, 0);
	server_stop(s);
	fetch_release(&f);
}

TEST(a_port_where_nobody_listens_is_refused)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	AUTO_FREE char *url = xstrdup(server_url(s));
	server_stop(s);
	struct http_request request = fetch_get(url);
	struct fetch f = { 0 };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_REFUSED);
	CHECK(strstr(f.text, "refused") || strstr(f.text, "connect"));
	fetch_release(&f);
}

static void serve_silence(struct peer *p)
{
	peer_request(p);
	peer_send(p, p->data);
	peer_wait_gone(p);
}

TEST(a_server_that_falls_silent_is_stalled)
{
	static const char *const sent[] = { "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" };

	for (size_t i = 0; i < COUNT_OF(sent); i++) {
		struct server *s = server_start(serve_silence, (void *)(uintptr_t)sent[i], NULL);
		struct http_request request = fetch_get(server_url(s));
		struct fetch f = { 0 };
		request.stall_ms = 100;
		fetch_once(&f, &request, NULL);
		CHECK_INT(f.error, HTTP_STALLED);
		CHECK_CSTR(f.text, "no byte for 0.1 s");
		server_stop(s);
		fetch_release(&f);
	}
}

static void serve_drip(struct peer *p)
{
	static const struct timespec pause = { .tv_nsec = 150 * 1000000 };

	peer_request(p);
	peer_send(p, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
	for (int i = 0; i < 8; i++) {
		nanosleep(&pause, NULL);
		peer_send(p, "x");
		sem_wait(p->data); /* or two bytes could be one piece */
	}
	peer_wait_gone(p);
}

TEST(a_slow_answer_whose_bytes_keep_coming_is_not_stalled)
{
	sem_t seen;
	sem_init(&seen, 0, 0);
	struct server *s = server_start(serve_drip, &seen, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { .on_data = post_semaphore, .data = &seen };
	request.stall_ms = 1000; /* less than all of it takes */

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OK);
	CHECK_STR(buf_str(&f.pieces), "[x][x][x][x][x][x][x][x]");
	server_stop(s);
	sem_destroy(&seen);
	fetch_release(&f);
}

TEST(a_request_that_is_not_over_within_its_limit_is_late)
{
	struct server *s = server_start(serve_silence,
					(void *)(uintptr_t) "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { 0 };
	request.limit_ms = 100;
	request.stall_ms = 60 * 1000;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_LATE);
	server_stop(s);
	fetch_release(&f);
}

TEST(an_answer_above_its_limit_is_too_large)
{
	static const struct {
		uint64_t limit;
		enum http_error error;
	} table[] = { { 5, HTTP_OK }, { 4, HTTP_TOO_LARGE } };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct server *s = server_start(peer_serve_hello, NULL, NULL);
		struct http_request request = fetch_get(server_url(s));
		struct fetch f = { 0 };
		request.limit_bytes = table[i].limit;
		fetch_once(&f, &request, NULL);
		CHECK_INT(f.error, table[i].error);
		CHECK_CSTR(f.text, table[i].error ? "the answer has more than 4 bytes" : "");
		server_stop(s);
		fetch_release(&f);
	}
}

struct header_flood {
	size_t lines, line_bytes;
};

static void serve_headers(struct peer *p)
{
	const struct header_flood *flood = p->data;
	AUTO_BUF struct buf b = { 0 };

	peer_request(p);
	buf_addstr(&b, "HTTP/1.1 200 OK\r\n");
	for (size_t i = 0; i < flood->lines; i++)
		buf_addf(&b, "X: %0*d\r\n", (int)flood->line_bytes, 0);
	buf_addstr(&b, "Content-Length: 0\r\n\r\n");
	peer_send_n(p, b.p, b.n);
	peer_wait_gone(p);
}

TEST(headers_have_a_limit_each_and_together)
{
	static const struct {
		struct header_flood flood;
		enum http_error error;
	} table[] = {
		{ { 100, 1000 }, HTTP_OK },
		{ { 1, 60000 }, HTTP_OK },
		{ { 1000, 1000 }, HTTP_TOO_LARGE },
		{ { 1, 200000 }, HTTP_TOO_LARGE },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct header_flood flood = table[i].flood;
		struct server *s = server_start(serve_headers, &flood, NULL);
		struct http_request request = fetch_get(server_url(s));
		struct fetch f = { 0 };
		fetch_once(&f, &request, NULL);
		CHECK_INT(f.error, table[i].error);
		CHECK_INT(f.heads, table[i].error == HTTP_OK);
		server_stop(s);
		fetch_release(&f);
	}
}

TEST(a_request_cancelled_at_once_never_reaches_the_server)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
	struct fetch f = { 0 };

	fetch_start(&f, h, &request);
	http_cancel(f.req);
	http_cancel(f.req);
	CHECK_INT(f.dones, 0);
	loop_run(loop);

	CHECK_INT(f.dones, 1);
	CHECK_INT(f.error, HTTP_CANCELLED);
	CHECK_INT(server_connections(s), 0);
	http_free(h);
	loop_free(loop);
	server_stop(s);
	fetch_release(&f);
}

static bool cancel_in_data(struct fetch *f)
{
	http_cancel(f->req);
	CHECK_INT(f->dones, 0);
	sem_post(f->data);
	return true;
}

static bool refuse_data(struct fetch *f)
{
	sem_post(f->data);
	return false;
}

TEST(a_request_cancelled_in_its_answer_gets_no_more_data)
{
	bool (*const ways[])(struct fetch * f) = { cancel_in_data, refuse_data };

	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		sem_t first_seen;
		sem_init(&first_seen, 0, 0);
		struct server *s = server_start(serve_two_pieces, &first_seen, NULL);
		struct http_request request = fetch_get(server_url(s));
		struct fetch f = { .on_data = ways[i], .data = &first_seen };
		fetch_once(&f, &request, NULL);
		CHECK_INT(f.error, HTTP_CANCELLED);
		CHECK_STR(buf_str(&f.pieces), "[one]");
		server_stop(s);
		sem_destroy(&first_seen);
		fetch_release(&f);
	}
}

/* Something that the test does later, by a timer. */
struct brake {
	struct timer timer;
	struct fetch *fetch;
	sem_t first_seen; /* the server waits for it */
	size_t bytes_when_resumed;
};

static void on_brake_released(struct timer *timer)
{
	struct brake *b = CONTAINER_OF(timer, struct brake, timer);

	b->bytes_when_resumed = b->fetch->pieces.n;
	http_pause(b->fetch->req, false);
}

static bool pause_once(struct fetch *f)
{
	struct brake *b = f->data;

	if (f->pieces.n == strlen("[one]")) {
		http_pause(f->req, true);
		timer_start(f->loop, &b->timer, 1250);
		sem_post(&b->first_seen);
	}
	return true;
}

static void serve_pieces_for_brake(struct peer *p)
{
	struct brake *b = p->data;

	peer_request(p);
	peer_send(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none");
	sem_wait(&b->first_seen);
	peer_send(p, "two");
	peer_wait_gone(p);
}

TEST(a_paused_request_gets_no_data_and_does_not_stall_until_resumed)
{
	struct brake b = { .timer.fire = on_brake_released };
	sem_init(&b.first_seen, 0, 0);
	struct server *s = server_start(serve_pieces_for_brake, &b, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { .on_data = pause_once, .data = &b };
	b.fetch = &f;
	request.stall_ms = 1000;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OK);
	CHECK_INT(b.bytes_when_resumed, strlen("[one]"));
	CHECK_STR(buf_str(&f.pieces), "[one][two]");
	server_stop(s);
	sem_destroy(&b.first_seen);
	fetch_release(&f);
}

static bool refuse_second(struct fetch *f)
{
	return pause_once(f) && f->pieces.n == strlen("[one]");
}

TEST(data_refused_on_resume_ends_the_request)
{
	struct brake b = { .timer.fire = on_brake_released };
	sem_init(&b.first_seen, 0, 0);
	struct server *s = server_start(serve_pieces_for_brake, &b, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { .on_data = refuse_second, .data = &b };
	b.fetch = &f;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_CANCELLED);
	CHECK_STR(buf_str(&f.pieces), "[one][two]");
	server_stop(s);
	sem_destroy(&b.first_seen);
	fetch_release(&f);
}

TEST(an_address_that_is_no_http_url_is_refused_at_the_start)
{
	static const char *const urls[] = { "", "ftp://127.0.0.1/", "http://", "nonsense", "http://a b/", "file:///x" };
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });

	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		struct http_request request = fetch_get(urls[i]);
		struct http_req *r = NULL;
		struct err err = { 0 };
		CHECK_INT(http_start(h, &request, &(struct http_handlers){ 0 }, NULL, &r, &err), -ERR_USAGE);
		CHECK(!r && err.text[0]);
	}

	CHECK_INT(h->active, 0);
	http_free(h);
	loop_free(loop);
}

TEST(a_host_of_a_refused_kind_is_denied_at_the_start)
{
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
	struct http_request request = fetch_get("http://127.0.0.1:9/");
	struct err err = { 0 };
	struct http_req *req;

	request.refused = ADDRESS_NOT_PUBLIC;
	CHECK_INT(http_start(h, &request, &(struct http_handlers){ 0 }, NULL, &req, &err), -ERR_DENIED);
	CHECK_CSTR(err.text, "127.0.0.1 is this machine");
	http_free(h);
	loop_free(loop);
}

/* The name of the machine leads to an address of some kind. */
TEST(a_name_that_leads_to_a_refused_address_is_denied_before_it_is_connected_to)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	char host[64] = "";
	char url[128];
	struct fetch f = { 0 };

	CHECK_INT(gethostname(host, sizeof host - 1), 0);
	snprintf(url, sizeof url, "http://%s:%u/", host, server_port(s));
	struct http_request request = fetch_get(url);
	request.refused = ADDRESS_PUBLIC | ADDRESS_NOT_PUBLIC;
	fetch_once(&f, &request, NULL);
	if (f.error == HTTP_RESOLVE) /* a machine that does not know its own name */
		print_message("# skipped: %s is not known\n", host);
	else
		CHECK_INT(f.error, HTTP_DENIED);
	CHECK_INT(server_connections(s), 0);
	fetch_release(&f);
	server_stop(s);
}

TEST(an_idle_connection_is_not_used_by_a_request_that_refuses_its_address)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
	char host[64] = "";
	char url[128];
	struct fetch first = { 0 };
	struct fetch second = { 0 };

	CHECK_INT(gethostname(host, sizeof host - 1), 0);
	snprintf(url, sizeof url, "http://%s:%u/", host, server_port(s));
	struct http_request request = fetch_get(url);
	fetch_start(&first, h, &request);
	loop_run(loop);
	request.refused = ADDRESS_PUBLIC | ADDRESS_NOT_PUBLIC;
	fetch_start(&second, h, &request);
	loop_run(loop);

	CHECK(second.error == HTTP_DENIED || first.error != HTTP_OK);
	CHECK_INT(second.heads, 0);
	http_free(h);
	loop_free(loop);
	fetch_release(&first);
	fetch_release(&second);
	server_stop(s);
}

TEST(where_there_is_a_proxy_a_request_that_refuses_addresses_goes_through_it_always)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct http_request request = fetch_get("http://page.invalid/");
	struct fetch f = { 0 };

	setenv("http_proxy", server_url(s), 1);
	setenv("no_proxy", "page.invalid", 1);
	request.refused = ADDRESS_NOT_PUBLIC; /* the proxy's own address does not count */
	fetch_once(&f, &request, NULL);
	unsetenv("http_proxy");
	unsetenv("no_proxy");
	CHECK_INT(f.error, HTTP_OK);
	CHECK_STR(buf_str(&f.pieces), "[hello]");
	server_stop(s);
	fetch_release(&f);
}

static void serve_packed(struct peer *p)
{
	/* 1 MB of zeros, packed */
	AUTO_BUF struct buf packed = { 0 };
	AUTO_BUF struct buf head = { 0 };
	z_stream z = { 0 };
	AUTO_FREE unsigned char *zeros = xcalloc(1, 1 << 20);

	buf_reserve(&packed, 1 << 16);
	CHECK_INT(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = zeros;
	z.avail_in = 1 << 20;
	z.next_out = (unsigned char *)packed.p;
	z.avail_out = 1 << 16;
	CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_addf(&head, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %lu\r\n\r\n", z.total_out);
	peer_request(p);
	peer_send_n(p, head.p, head.n);
	peer_send_n(p, packed.p, z.total_out);
	deflateEnd(&z);
	peer_wait_gone(p);
}

TEST(the_limit_of_an_answer_is_for_what_it_unpacks_to)
{
	struct server *s = server_start(serve_packed, NULL, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct fetch f = { 0 };

	request.unpacks = true;
	request.limit_bytes = 100000; /* a hundred times what is sent */
	fetch_once(&f, &request, NULL);
	CHECK_INT(f.error, HTTP_TOO_LARGE);
	server_stop(s);
	fetch_release(&f);
}

int test_http(void)
{
	return RUN_TESTS(
		T(an_answer_is_handed_over_piece_by_piece_as_it_comes),
		T(interim_answers_and_trailers_are_not_reported), T(the_next_request_uses_the_same_connection),
		T(a_connection_that_ends_before_its_answer_does_is_a_reset), T(an_answer_that_is_not_http_is_an_error),
		T(a_port_where_nobody_listens_is_refused), T(a_server_that_falls_silent_is_stalled),
		T(a_slow_answer_whose_bytes_keep_coming_is_not_stalled),
		T(a_request_that_is_not_over_within_its_limit_is_late), T(an_answer_above_its_limit_is_too_large),
		T(headers_have_a_limit_each_and_together), T(a_request_cancelled_at_once_never_reaches_the_server),
		T(a_request_cancelled_in_its_answer_gets_no_more_data),
		T(a_paused_request_gets_no_data_and_does_not_stall_until_resumed),
		T(data_refused_on_resume_ends_the_request), T(an_address_that_is_no_http_url_is_refused_at_the_start),
		T(a_host_of_a_refused_kind_is_denied_at_the_start),
		T(a_name_that_leads_to_a_refused_address_is_denied_before_it_is_connected_to),
		T(an_idle_connection_is_not_used_by_a_request_that_refuses_its_address),
		T(where_there_is_a_proxy_a_request_that_refuses_addresses_goes_through_it_always),
		T(the_limit_of_an_answer_is_for_what_it_unpacks_to));
}
