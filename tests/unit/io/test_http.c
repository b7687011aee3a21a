/* SPDX-License-Identifier: MIT
 * test_http.c - requests in plain text: answers, connections, every way to fail, back-pressure, shards. */
#include "test_io.h"
#include <pthread.h>
#include <semaphore.h>
#include "http_client.h"
#include "http_server.h"
#include "unit.h"
#include "io/http_int.h"

static struct http_request get(const char *url)
{
	return (struct http_request){ .method = "GET", .url = url };
}

static void serve_hello(struct peer *p)
{
	while (peer_request(p))
		peer_answer(p, "hello");
}

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
	struct http_request request = get(server_url(s));
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
	struct http_request request = get(server_url(s));
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
	struct server *s = server_start(serve_hello, NULL, NULL);
	struct http_request request = get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);

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
		struct http_request request = get(server_url(s));
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
	struct http_request request = get(server_url(s));
	struct fetch f = { 0 };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OTHER);
	CHECK_INT(f.heads, 0);
	server_stop(s);
	fetch_release(&f);
}

TEST(a_port_where_nobody_listens_is_refused)
{
	struct server *s = server_start(serve_hello, NULL, NULL);
	AUTO_FREE char *url = xstrdup(server_url(s));
	server_stop(s);
	struct http_request request = get(url);
	struct fetch f = { 0 };

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_REFUSED);
	CHECK(strstr(f.text, "refused") || strstr(f.text, "connect"));
	fetch_release(&f);
}

/* glibc finds a label of more than 63 bytes invalid without asking any server. */
TEST(a_name_that_does_not_resolve_fails_all_who_wait_for_it)
{
	struct http_request request = get("http://"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid/");
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
	struct fetch f[3] = { 0 };

	for (size_t i = 0; i < COUNT_OF(f); i++)
		fetch_start(&f[i], h, &request);
	loop_run(loop);

	for (size_t i = 0; i < COUNT_OF(f); i++) {
		CHECK_INT(f[i].dones, 1);
		CHECK_INT(f[i].error, HTTP_RESOLVE);
		CHECK_CSTR(f[i].text, f[0].text);
	}
	http_free(h);
	loop_free(loop);
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
		struct http_request request = get(server_url(s));
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
	static const struct timespec pause = { .tv_nsec = 60 * 1000000 };

	peer_request(p);
	peer_send(p, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
	for (int i = 0; i < 8; i++) {
		nanosleep(&pause, NULL);
		peer_send(p, "x");
	}
	peer_wait_gone(p);
}

TEST(a_slow_answer_whose_bytes_keep_coming_is_not_stalled)
{
	struct server *s = server_start(serve_drip, NULL, NULL);
	struct http_request request = get(server_url(s));
	struct fetch f = { 0 };
	request.stall_ms = 300;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OK);
	CHECK_STR(buf_str(&f.pieces), "[x][x][x][x][x][x][x][x]");
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
		struct server *s = server_start(serve_hello, NULL, NULL);
		struct http_request request = get(server_url(s));
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
		struct http_request request = get(server_url(s));
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
	struct server *s = server_start(serve_hello, NULL, NULL);
	struct http_request request = get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
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
	bool (*const ways[])(struct fetch *f) = { cancel_in_data, refuse_data };

	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		sem_t first_seen;
		sem_init(&first_seen, 0, 0);
		struct server *s = server_start(serve_two_pieces, &first_seen, NULL);
		struct http_request request = get(server_url(s));
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
	sem_t first_seen;       /* the server waits for it */
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
		timer_start(f->loop, &b->timer, 250);
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
	struct http_request request = get(server_url(s));
	struct fetch f = { .on_data = pause_once, .data = &b };
	b.fetch = &f;
	request.stall_ms = 200;

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
	struct http_request request = get(server_url(s));
	struct fetch f = { .on_data = refuse_second, .data = &b };
	b.fetch = &f;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_CANCELLED);
	CHECK_STR(buf_str(&f.pieces), "[one][two]");
	server_stop(s);
	sem_destroy(&b.first_seen);
	fetch_release(&f);
}

/* A body of `size` bytes, the letters in turn. */
struct letters {
	size_t size, at, reads, rewinds;
};

static size_t read_letters(void *data, char *out, size_t room)
{
	struct letters *l = data;
	size_t n = MIN(room, l->size - l->at);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)('a' + (l->at + i) % 26);
	l->at += n;
	l->reads++;
	return n;
}

static void rewind_letters(void *data)
{
	struct letters *l = data;

	l->at = 0;
	l->rewinds++;
}

static struct http_request post(const char *url, struct letters *letters)
{
	return (struct http_request){ .method = "POST", .url = url, .body_data = letters,
				      .body = { letters->size, read_letters, rewind_letters } };
}

static void serve_echo(struct peer *p)
{
	struct buf *last_head = p->data;

	while (peer_request(p)) {
		buf_clear(last_head);
		buf_add(last_head, p->head.p, p->head.n);
		peer_answer(p, p->body.n ? p->body.p : "");
	}
}

static size_t count_letters(struct str pieces)
{
	size_t n = 0;

	for (size_t i = 0; i < pieces.n; i++) {
		if (pieces.p[i] == '[' || pieces.p[i] == ']')
			continue;
		CHECK_INT(pieces.p[i], 'a' + n % 26);
		n++;
	}
	return n;
}

TEST(a_body_is_pulled_and_sent_with_its_size)
{
	static const size_t sizes[] = { 0, 1, 3 * 16384, 3 * 16384 + 5, 5000000 };
	static const char *const headers[] = { "X-Test: yes", "Content-Type: application/json", NULL };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		AUTO_BUF struct buf head = { 0 };
		char expected[64];
		struct server *s = server_start(serve_echo, &head, NULL);
		struct letters letters = { .size = sizes[i] };
		struct http_request request = post(server_url(s), &letters);
		struct fetch f = { 0 };
		request.headers = headers;
		fetch_once(&f, &request, &(struct http_options){ .user_agent = "cadre-test" });
		server_stop(s);

		CHECK_INT(f.error, HTTP_OK);
		CHECK_INT(count_letters(buf_str(&f.pieces)), sizes[i]);
		snprintf(expected, sizeof expected, "\r\nContent-Length: %zu\r\n", sizes[i]);
		CHECK(str_starts(buf_str(&head), STR("POST / HTTP/1.1\r\n")));
		CHECK(strstr(head.p, expected));
		CHECK(strstr(head.p, "\r\nX-Test: yes\r\n"));
		CHECK(strstr(head.p, "\r\nContent-Type: application/json\r\n"));
		CHECK(strstr(head.p, "\r\nUser-Agent: cadre-test\r\n"));
		CHECK(!strcasestr(head.p, "\nexpect:") && !strcasestr(head.p, "encoding:"));
		fetch_release(&f);
	}
}

static void serve_after_body(struct peer *p)
{
	sem_t *trimmed = p->data;

	peer_request(p);
	sem_wait(trimmed);
	peer_answer(p, p->body.p);
	peer_wait_gone(p);
}

static void look_for_trim(struct timer *timer)
{
	struct brake *b = CONTAINER_OF(timer, struct brake, timer);

	if (b->fetch->req->is_trimmed)
		sem_post(&b->first_seen);
	else
		timer_start(b->fetch->loop, timer, 1);
}

TEST(a_request_that_waits_for_its_answer_holds_no_send_buffer)
{
	struct brake b = { .timer.fire = look_for_trim };
	sem_init(&b.first_seen, 0, 0);
	struct server *s = server_start(serve_after_body, &b.first_seen, NULL);
	struct letters letters = { .size = 3000000 };
	struct http_request request = post(server_url(s), &letters);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
	struct fetch f = { .loop = loop };
	b.fetch = &f;
	request.stall_ms = 10000;

	fetch_start(&f, h, &request);
	timer_start(loop, &b.timer, 1);
	CHECK(!f.req->is_trimmed);
	loop_run(loop); /* the answer waits for the trim */

	CHECK_INT(f.error, HTTP_OK);
	CHECK_INT(count_letters(buf_str(&f.pieces)), 3000000);
	http_free(h);
	loop_free(loop);
	server_stop(s);
	sem_destroy(&b.first_seen);
	fetch_release(&f);
}

TEST(a_method_is_sent_as_given)
{
	static const struct {
		const char *method;
		size_t size;
		const char *line;
	} table[] = {
		{ "GET", 0, "GET / HTTP/1.1\r\n" },
		{ "HEAD", 0, "HEAD / HTTP/1.1\r\n" },
		{ "DELETE", 0, "DELETE / HTTP/1.1\r\n" },
		{ "PUT", 9, "PUT / HTTP/1.1\r\n" },
		{ "GET", 9, "GET / HTTP/1.1\r\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf head = { 0 };
		struct server *s = server_start(serve_echo, &head, NULL);
		struct letters letters = { .size = table[i].size };
		struct http_request request = post(server_url(s), &letters);
		struct fetch f = { 0 };
		request.method = table[i].method;
		fetch_once(&f, &request, NULL);
		server_stop(s);

		CHECK_INT(f.error, HTTP_OK);
		CHECK(str_starts(buf_str(&head), str_from(table[i].line)));
		CHECK_INT(count_letters(buf_str(&f.pieces)), table[i].size);
		fetch_release(&f);
	}
}

/* The first connection answers once, then takes a second request and closes without a word. */
static void serve_dying(struct peer *p)
{
	peer_request(p);
	peer_answer(p, p->body.p);
	if (p->number > 1)
		while (peer_request(p))
			peer_answer(p, p->body.p);
	else
		peer_request(p);
}

TEST(a_body_is_rewound_when_an_idle_connection_turns_out_to_be_dead)
{
	struct server *s = server_start(serve_dying, NULL, NULL);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
	struct letters letters[2] = { { .size = 50000 }, { .size = 50000 } };

	for (size_t i = 0; i < COUNT_OF(letters); i++) {
		struct http_request request = post(server_url(s), &letters[i]);
		struct fetch f = { 0 };
		fetch_start(&f, h, &request);
		loop_run(loop);
		CHECK_INT(f.error, HTTP_OK);
		CHECK_INT(count_letters(buf_str(&f.pieces)), 50000);
		fetch_release(&f);
	}

	CHECK_INT(letters[0].rewinds, 0);
	CHECK_INT(letters[1].rewinds, 1);
	CHECK_INT(server_connections(s), 2);
	http_free(h);
	loop_free(loop);
	server_stop(s);
}

TEST(a_body_that_ends_early_fails_the_request)
{
	AUTO_BUF struct buf head = { 0 };
	struct server *s = server_start(serve_echo, &head, NULL);
	struct letters letters = { .size = 100 };
	struct http_request request = post(server_url(s), &letters);
	struct fetch f = { 0 };
	request.body.size = 120;

	fetch_once(&f, &request, NULL);

	CHECK_INT(f.error, HTTP_OTHER);
	CHECK_CSTR(f.text, "the body of the request is 20 bytes short");
	server_stop(s);
	fetch_release(&f);
}

TEST(an_address_that_is_no_http_url_is_refused_at_the_start)
{
	static const char *const urls[] = { "", "ftp://127.0.0.1/", "http://", "nonsense", "http://a b/", "file:///x" };
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);

	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		struct http_request request = get(urls[i]);
		struct http_req *r = NULL;
		struct err err = { 0 };
		CHECK_INT(http_start(h, &request, &(struct http_handlers){ 0 }, NULL, &r, &err), -ERR_USAGE);
		CHECK(!r && err.text[0]);
	}

	CHECK_INT(http_active(h), 0);
	http_free(h);
	loop_free(loop);
}

/* Answers nobody before everybody has asked. */
struct crowd {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	unsigned here, wanted;
};

static void serve_crowd(struct peer *p)
{
	struct crowd *c = p->data;

	while (peer_request(p)) {
		pthread_mutex_lock(&c->lock);
		unsigned wave = c->here / c->wanted;
		if (++c->here % c->wanted == 0)
			pthread_cond_broadcast(&c->all_here);
		while (c->here / c->wanted == wave)
			pthread_cond_wait(&c->all_here, &c->lock);
		pthread_mutex_unlock(&c->lock);
		peer_answer(p, "hello");
	}
}

static void run_wave(struct loop *loop, struct http *h, const char *url, const unsigned *shards, size_t count)
{
	struct fetch *f = xcalloc(count, sizeof *f);

	for (size_t i = 0; i < count; i++) {
		struct http_request request = get(url);
		request.shard = shards[i];
		fetch_start(&f[i], h, &request);
	}
	CHECK_INT(http_active(h), count);
	loop_run(loop);
	for (size_t i = 0; i < count; i++) {
		CHECK_INT(f[i].error, HTTP_OK);
		CHECK_STR(buf_str(&f[i].pieces), "[hello]");
		fetch_release(&f[i]);
	}
	free(f);
}

TEST(hundreds_of_requests_run_at_once_and_find_their_connections_again)
{
	enum { COUNT = 300, SHARD = 40 };
	struct crowd crowd = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, COUNT };
	struct server *s = server_start(serve_crowd, &crowd, NULL);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ .shard_size = SHARD }, NULL);
	unsigned shards[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		shards[i] = http_pick_shard(h);

	run_wave(loop, h, server_url(s), shards, COUNT);
	CHECK_INT(h->shard_count, (COUNT + SHARD - 1) / SHARD);
	CHECK_INT(server_connections(s), COUNT);
	run_wave(loop, h, server_url(s), shards, COUNT);
	unsigned balanced = server_connections(s); /* the last shard was not full in the first wave */
	CHECK(balanced < COUNT + SHARD);
	run_wave(loop, h, server_url(s), shards, COUNT);

	CHECK_INT(server_connections(s), balanced);
	http_free(h);
	loop_free(loop);
	server_stop(s);
}

static bool start_another(struct fetch *f)
{
	struct fetch *other = f->data;
	struct http *h = other->data;
	struct http_request request = get(f->text);

	fetch_start(other, h, &request);
	return true;
}

TEST(a_handler_may_start_another_request)
{
	struct server *s = server_start(serve_hello, NULL, NULL);
	struct http_request request = get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
	struct fetch second = { .data = h };
	struct fetch first = { .on_data = start_another, .data = &second };
	snprintf(first.text, sizeof first.text, "%s", server_url(s));

	fetch_start(&first, h, &request);
	loop_run(loop);

	CHECK_INT(first.error, HTTP_OK);
	CHECK_INT(second.error, HTTP_OK);
	CHECK_STR(buf_str(&second.pieces), "[hello]");
	http_free(h);
	loop_free(loop);
	server_stop(s);
	fetch_release(&first);
	fetch_release(&second);
}

TEST(requests_to_a_name_go_when_the_first_has_its_connection)
{
	struct server *s = server_start(serve_hello, NULL, NULL);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 }, NULL);
	char url[64];
	struct fetch f[20] = { 0 };
	snprintf(url, sizeof url, "http://localhost:%u/", server_port(s));
	struct http_request request = get(url);

	for (size_t i = 0; i < COUNT_OF(f); i++)
		fetch_start(&f[i], h, &request);
	http_cancel(f[5].req);
	loop_run(loop);

	for (size_t i = 0; i < COUNT_OF(f); i++) {
		CHECK_INT(f[i].dones, 1);
		CHECK_INT(f[i].error, i == 5 ? HTTP_CANCELLED : HTTP_OK);
		fetch_release(&f[i]);
	}
	http_free(h);
	loop_free(loop);
	server_stop(s);
}

/* Who may use a name, without curl: three requests of one host, their steps counted. */
static int kicked[3];
static struct http_req name_users[3];

static void count_kick(struct kick *kick)
{
	kicked[CONTAINER_OF(kick, struct http_req, kick) - name_users]++;
}

TEST(one_request_looks_a_name_up_and_the_others_wait)
{
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);
	struct http h = { .loop = loop };
	struct http_host *host = http_host_get(&h, "example.test", "443");
	struct http_req *a = &name_users[0], *b = &name_users[1], *c = &name_users[2];
	for (size_t i = 0; i < COUNT_OF(name_users); i++)
		name_users[i] = (struct http_req){ .http = &h, .host = host, .kick.step = count_kick };

	CHECK(!http_host_get(&h, "127.0.0.1", "443"));
	CHECK(!http_host_get(&h, "[::1]", "443"));
	CHECK(http_host_get(&h, "example.test", "80") != host);
	CHECK(http_host_enter(a));
	CHECK(!http_host_enter(b));
	CHECK(!http_host_enter(c));

	http_host_ready(a); /* without a look-up: only the next one goes */
	loop_run(loop);
	CHECK(kicked[1] == 1 && kicked[2] == 0);
	http_host_leave(b, HTTP_CANCELLED, ""); /* woken, but gone before it entered: the next one must not be forgotten */
	loop_run(loop);
	CHECK_INT(kicked[2], 1);
	CHECK(http_host_enter(c));
	CHECK(!http_host_enter(a));
	CHECK(!http_host_enter(b));

	c->looked_up = true;
	http_host_ready(c); /* now curl has the address: all go */
	loop_run(loop);
	CHECK(kicked[0] == 1 && kicked[1] == 2);
	CHECK(http_host_enter(a) && http_host_enter(b));
	CHECK(!host->leader);

	http_host_free_all(&h);
	loop_free(loop);
}

int test_http(void)
{
	static const char *const proxies[] = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy",
					       "ALL_PROXY" };

	for (size_t i = 0; i < COUNT_OF(proxies); i++)
		unsetenv(proxies[i]);
	return RUN_TESTS(T(an_answer_is_handed_over_piece_by_piece_as_it_comes),
			 T(interim_answers_and_trailers_are_not_reported),
			 T(the_next_request_uses_the_same_connection),
			 T(a_connection_that_ends_before_its_answer_does_is_a_reset),
			 T(an_answer_that_is_not_http_is_an_error),
			 T(a_port_where_nobody_listens_is_refused),
			 T(a_name_that_does_not_resolve_fails_all_who_wait_for_it),
			 T(a_server_that_falls_silent_is_stalled),
			 T(a_slow_answer_whose_bytes_keep_coming_is_not_stalled),
			 T(an_answer_above_its_limit_is_too_large),
			 T(headers_have_a_limit_each_and_together),
			 T(a_request_cancelled_at_once_never_reaches_the_server),
			 T(a_request_cancelled_in_its_answer_gets_no_more_data),
			 T(a_paused_request_gets_no_data_and_does_not_stall_until_resumed),
			 T(data_refused_on_resume_ends_the_request),
			 T(a_body_is_pulled_and_sent_with_its_size),
			 T(a_request_that_waits_for_its_answer_holds_no_send_buffer),
			 T(a_method_is_sent_as_given),
			 T(a_body_is_rewound_when_an_idle_connection_turns_out_to_be_dead),
			 T(a_body_that_ends_early_fails_the_request),
			 T(an_address_that_is_no_http_url_is_refused_at_the_start),
			 T(hundreds_of_requests_run_at_once_and_find_their_connections_again),
			 T(a_handler_may_start_another_request),
			 T(requests_to_a_name_go_when_the_first_has_its_connection),
			 T(one_request_looks_a_name_up_and_the_others_wait));
}
