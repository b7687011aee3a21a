/* SPDX-License-Identifier: MIT
 * test_http_body.c - what is sent: method, headers, a body that is pulled and can be rewound. */
#include "test_io.h"
#include <semaphore.h>
#include "http_client.h"
#include "http_server.h"
#include "unit.h"
#include "lib/io/http_int.h"

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
	return (struct http_request){ .method = "POST",
				      .url = url,
				      .body_data = letters,
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
		CHECK(!strcasestr(head.p, "\nexpect:") && !strcasestr(head.p, "transfer-encoding:"));
		fetch_release(&f);
	}
}

/* Lets the server answer when the request holds no send buffer any more. */
struct lookout {
	struct timer timer;
	struct fetch fetch;
	sem_t trimmed;
};

static void serve_after_body(struct peer *p)
{
	struct lookout *l = p->data;

	peer_request(p);
	sem_wait(&l->trimmed);
	peer_answer(p, p->body.p);
	peer_wait_gone(p);
}

static void look_for_trim(struct timer *timer)
{
	struct lookout *l = CONTAINER_OF(timer, struct lookout, timer);

	if (l->fetch.req->is_trimmed)
		sem_post(&l->trimmed);
	else
		timer_start(l->fetch.loop, timer, 1);
}

TEST(a_request_that_waits_for_its_answer_holds_no_send_buffer)
{
	struct loop *loop = loop_new(0);
	struct lookout l = { .timer.fire = look_for_trim, .fetch.loop = loop };
	sem_init(&l.trimmed, 0, 0);
	struct server *s = server_start(serve_after_body, &l, NULL);
	struct letters letters = { .size = 3000000 };
	struct http_request request = post(server_url(s), &letters);
	struct http *h = http_new(loop, &(struct http_options){ 0 });

	fetch_start(&l.fetch, h, &request);
	timer_start(loop, &l.timer, 1);
	CHECK(!l.fetch.req->is_trimmed);
	loop_run(loop);

	CHECK_INT(l.fetch.error, HTTP_OK);
	CHECK_INT(count_letters(buf_str(&l.fetch.pieces)), 3000000);
	http_free(h);
	loop_free(loop);
	server_stop(s);
	sem_destroy(&l.trimmed);
	fetch_release(&l.fetch);
}

TEST(a_method_is_sent_as_given)
{
	static const struct {
		const char *method;
		size_t size;
		const char *line;
	} table[] = {
		{ "GET", 0, "GET / HTTP/1.1\r\n" },       { "HEAD", 0, "HEAD / HTTP/1.1\r\n" },
		{ "DELETE", 0, "DELETE / HTTP/1.1\r\n" }, { "PUT", 9, "PUT / HTTP/1.1\r\n" },
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
	struct http *h = http_new(loop, &(struct http_options){ 0 });
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

enum { CROWD = 7, LARGE = 300000, HUGE_BODY = 16 << 20 }; /* the last one fits into no socket buffers */

/* Requests to one host, and in which order they began to send */
struct crowd {
	struct loop *loop;
	struct http *http;
	struct server *server;
	sem_t may_read; /* the first connection's server reads after it */
	struct sender {
		struct crowd *crowd;
		struct letters letters;
		struct fetch fetch;
		struct http_req *req; /* also while it ends */
		bool looked_up;
	} senders[CROWD];
	size_t begun[CROWD], begun_count, most_at_once, done_count;
	struct timer timer;
};

static size_t read_in_crowd(void *data, char *out, size_t room)
{
	struct sender *s = data;
	struct crowd *c = s->crowd;
	size_t sending = 0;

	if (!s->letters.reads)
		c->begun[c->begun_count++] = (size_t)(s - c->senders);
	size_t n = read_letters(&s->letters, out, room);
	for (size_t i = 0; i < CROWD; i++)
		sending +=
			c->senders[i].letters.at > 0 && !c->senders[i].fetch.dones && !c->senders[i].fetch.req->is_sent;
	c->most_at_once = MAX(c->most_at_once, sending);
	return n;
}

static void rewind_in_crowd(void *data)
{
	rewind_letters(&((struct sender *)data)->letters);
}

static void note_done_in_crowd(struct fetch *f)
{
	struct sender *s = f->data;

	s->looked_up = s->req->looked_up;
	s->crowd->done_count++;
}

static void serve_crowd_of_bodies(struct peer *p)
{
	struct crowd *c = p->data;

	if (p->number == 1)
		sem_wait(&c->may_read);
	while (peer_request(p))
		peer_answer(p, "ok");
}

static void crowd_init(struct crowd *c, unsigned uploads)
{
	*c = (struct crowd){ .loop = loop_new(0) };
	sem_init(&c->may_read, 0, 0);
	c->http = http_new(c->loop, &(struct http_options){ .uploads = uploads });
	c->server = server_start(serve_crowd_of_bodies, c, NULL);
}

static void crowd_send(struct crowd *c, size_t i, const char *url, size_t size, uint64_t stall_ms)
{
	struct sender *s = &c->senders[i];

	*s = (struct sender){ .crowd = c, .letters.size = size };
	s->fetch = (struct fetch){ .data = s, .on_done = note_done_in_crowd, .loop = c->loop };
	fetch_start(&s->fetch, c->http,
		    &(struct http_request){ .method = "POST",
					    .url = url,
					    .body_data = s,
					    .body = { size, read_in_crowd, rewind_in_crowd },
					    .stall_ms = stall_ms });
	s->req = s->fetch.req;
}

static void crowd_release(struct crowd *c)
{
	sem_post(&c->may_read);
	http_free(c->http);
	loop_free(c->loop);
	server_stop(c->server);
	for (size_t i = 0; i < CROWD; i++)
		fetch_release(&c->senders[i].fetch);
	sem_destroy(&c->may_read);
}

TEST(large_bodies_to_a_host_are_sent_a_few_at_a_time_in_the_order_of_their_start)
{
	static const struct {
		unsigned uploads;
		size_t size;
		size_t at_most;
	} table[] = { { 1, LARGE, 1 }, { 2, LARGE, 2 }, { 2, 64 << 10, CROWD } };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct crowd c;
		crowd_init(&c, table[i].uploads);
		sem_post(&c.may_read);
		for (size_t k = 0; k < CROWD; k++)
			crowd_send(&c, k, server_url(c.server), table[i].size, 0);
		loop_run(c.loop);

		CHECK_INT(c.done_count, CROWD);
		CHECK(c.most_at_once <= table[i].at_most);
		for (size_t k = 0; k < CROWD; k++) {
			CHECK_INT(c.senders[k].fetch.error, HTTP_OK);
			CHECK_INT(c.senders[k].letters.at, table[i].size);
			if (table[i].uploads == 1)
				CHECK_INT(c.begun[k], k);
		}
		crowd_release(&c);
	}
}

static void let_first_be_read(struct timer *timer)
{
	sem_post(&CONTAINER_OF(timer, struct crowd, timer)->may_read);
}

static void cancel_waiting(struct timer *timer)
{
	struct crowd *c = CONTAINER_OF(timer, struct crowd, timer);

	if (!c->senders[0].letters.at) { /* not sending yet */
		timer_start(c->loop, timer, 1);
		return;
	}
	http_cancel(c->senders[1].fetch.req);
	timer->fire = let_first_be_read;
	timer_start(c->loop, timer, 1);
}

TEST(a_cancelled_request_leaves_the_queue_of_uploads)
{
	struct crowd c;
	crowd_init(&c, 1);
	crowd_send(&c, 0, server_url(c.server), HUGE_BODY, 0);
	crowd_send(&c, 1, server_url(c.server), LARGE, 0);
	crowd_send(&c, 2, server_url(c.server), LARGE, 0);
	c.timer.fire = cancel_waiting;
	timer_start(c.loop, &c.timer, 1);
	loop_run(c.loop);

	CHECK_INT(c.senders[0].fetch.error, HTTP_OK);
	CHECK_INT(c.senders[1].fetch.error, HTTP_CANCELLED);
	CHECK_INT(c.senders[1].letters.reads, 0);
	CHECK_INT(c.senders[2].fetch.error, HTTP_OK);
	CHECK_INT(c.most_at_once, 1);
	crowd_release(&c);
}

static void cancel_first(struct timer *timer)
{
	struct crowd *c = CONTAINER_OF(timer, struct crowd, timer);

	if (c->senders[0].letters.at)
		http_cancel(c->senders[0].fetch.req);
	else
		timer_start(c->loop, timer, 1);
}

TEST(an_upload_that_is_cancelled_or_stalls_lets_the_next_one_go)
{
	for (int stalls = 0; stalls < 2; stalls++) {
		struct crowd c;
		crowd_init(&c, 1);
		crowd_send(&c, 0, server_url(c.server), HUGE_BODY, stalls ? 100 : 0);
		crowd_send(&c, 1, server_url(c.server), LARGE, 0);
		c.timer.fire = cancel_first;
		if (!stalls)
			timer_start(c.loop, &c.timer, 1);
		loop_run(c.loop);

		CHECK_INT(c.senders[0].fetch.error, stalls ? HTTP_STALLED : HTTP_CANCELLED);
		CHECK_INT(c.senders[1].fetch.error, HTTP_OK);
		crowd_release(&c);
	}
}

TEST(a_request_that_waits_to_send_does_not_stall)
{
	struct crowd c;
	crowd_init(&c, 1);
	crowd_send(&c, 0, server_url(c.server), HUGE_BODY, 0);
	crowd_send(&c, 1, server_url(c.server), LARGE, 1000);
	c.timer.fire = let_first_be_read;
	timer_start(c.loop, &c.timer, 1500); /* longer than the second may be silent */
	loop_run(c.loop);

	CHECK_INT(c.senders[0].fetch.error, HTTP_OK);
	CHECK_INT(c.senders[1].fetch.error, HTTP_OK);
	crowd_release(&c);
}

TEST(a_name_that_does_not_resolve_fails_those_that_wait_to_send)
{
	struct crowd c;
	crowd_init(&c, 1);
	for (size_t k = 0; k < 3; k++)
		crowd_send(&c, k, "http://no-such-host.invalid/", LARGE, 0);
	loop_run(c.loop);

	for (size_t k = 0; k < 3; k++)
		CHECK_INT(c.senders[k].fetch.error, HTTP_RESOLVE);
	CHECK(c.senders[0].looked_up && !c.senders[1].looked_up && !c.senders[2].looked_up);
	crowd_release(&c);
}

int test_http_body(void)
{
	return RUN_TESTS(T(a_body_is_pulled_and_sent_with_its_size),
			 T(a_request_that_waits_for_its_answer_holds_no_send_buffer), T(a_method_is_sent_as_given),
			 T(a_body_is_rewound_when_an_idle_connection_turns_out_to_be_dead),
			 T(a_body_that_ends_early_fails_the_request),
			 T(large_bodies_to_a_host_are_sent_a_few_at_a_time_in_the_order_of_their_start),
			 T(a_cancelled_request_leaves_the_queue_of_uploads),
			 T(an_upload_that_is_cancelled_or_stalls_lets_the_next_one_go),
			 T(a_request_that_waits_to_send_does_not_stall),
			 T(a_name_that_does_not_resolve_fails_those_that_wait_to_send));
}
