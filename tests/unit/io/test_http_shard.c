/* SPDX-License-Identifier: MIT
 * test_http_shard.c - many requests at once: shards, connections, who resolves a name. */
#include "test_io.h"
#include <pthread.h>
#include "http_client.h"
#include "http_server.h"
#include "unit.h"
#include "lib/io/http_int.h"

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
		struct http_request request = fetch_get(url);
		request.shard = shards[i];
		fetch_start(&f[i], h, &request);
	}
	CHECK_INT(h->active, count);
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
	struct http *h = http_new(loop, &(struct http_options){ .shard_size = SHARD });
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

/* glibc finds a label of more than 63 bytes invalid without asking any server. */
TEST(a_name_that_does_not_resolve_fails_all_who_wait_for_it)
{
	struct http_request request =
		fetch_get("http://"
			  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid/");
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
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

static bool start_another(struct fetch *f)
{
	struct fetch *other = f->data;
	struct http *h = other->data;
	struct http_request request = fetch_get(f->text);

	fetch_start(other, h, &request);
	return true;
}

TEST(a_handler_may_start_another_request)
{
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct http_request request = fetch_get(server_url(s));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
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
	struct server *s = server_start(peer_serve_hello, NULL, NULL);
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ 0 });
	char url[64];
	struct fetch f[20] = { 0 };
	snprintf(url, sizeof url, "http://localhost:%u/", server_port(s));
	struct http_request request = fetch_get(url);

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
struct name_users {
	struct loop *loop;
	struct http http;
	struct http_host *host;
	struct http_req req[3];
};

static void count_kick(struct kick *kick)
{
	CONTAINER_OF(kick, struct http_req, kick)->status++;
}

static void name_users_init(struct name_users *u)
{
	*u = (struct name_users){ .loop = loop_new(LOOP_VIRTUAL_CLOCK) };
	u->http.loop = u->loop;
	u->host = http_host_get(&u->http, "example.test", "443");
	for (size_t i = 0; i < COUNT_OF(u->req); i++)
		u->req[i] = (struct http_req){ .http = &u->http, .host = u->host, .kick.step = count_kick };
}

static void name_users_release(struct name_users *u)
{
	http_host_free_all(&u->http);
	loop_free(u->loop);
}

TEST(one_request_looks_a_name_up_and_the_others_wait)
{
	struct name_users u;
	name_users_init(&u);
	struct http_req *a = &u.req[0], *b = &u.req[1], *c = &u.req[2];

	CHECK(http_host_enter(a));
	CHECK(!http_host_enter(b));
	CHECK(!http_host_enter(c));
	http_host_ready(a); /* without a look-up: only the next one goes */
	loop_run(u.loop);
	CHECK(b->status == 1 && c->status == 0);
	http_host_leave(b, HTTP_CANCELLED, ""); /* before it entered: c must not be forgotten */
	loop_run(u.loop);
	CHECK_INT(c->status, 1);
	CHECK(http_host_enter(c));
	CHECK(!http_host_enter(a));
	CHECK(!http_host_enter(b));
	c->looked_up = true;
	http_host_ready(c); /* now curl has the address: all go */
	loop_run(u.loop);

	CHECK(a->status == 1 && b->status == 2);
	CHECK(http_host_enter(a) && http_host_enter(b));
	CHECK(!u.host->leader);
	name_users_release(&u);
}

TEST(a_failed_look_up_counts_for_all_who_wait)
{
	struct name_users u;
	name_users_init(&u);

	for (size_t i = 0; i < COUNT_OF(u.req); i++)
		http_host_enter(&u.req[i]);
	http_host_leave(&u.req[0], HTTP_RESOLVE, "no such host");
	loop_run(u.loop);

	for (size_t i = 1; i < COUNT_OF(u.req); i++) {
		CHECK_INT(u.req[i].status, 1);
		CHECK_INT(u.req[i].failure, HTTP_RESOLVE);
		CHECK_CSTR(u.req[i].failure_text, "no such host");
	}
	name_users_release(&u);
}

TEST(numeric_addresses_need_no_look_up_and_ports_are_told_apart)
{
	struct name_users u;
	name_users_init(&u);

	CHECK(http_host_get(&u.http, "127.0.0.1", "443")->is_address);
	CHECK(http_host_get(&u.http, "[::1]", "443")->is_address);
	CHECK(http_host_get(&u.http, "example.test", "443") == u.host);
	CHECK(http_host_get(&u.http, "example.test", "80") != u.host);

	name_users_release(&u);
}

int test_http_shard(void)
{
	return RUN_TESTS(
		T(hundreds_of_requests_run_at_once_and_find_their_connections_again),
		T(a_name_that_does_not_resolve_fails_all_who_wait_for_it), T(a_handler_may_start_another_request),
		T(requests_to_a_name_go_when_the_first_has_its_connection),
		T(one_request_looks_a_name_up_and_the_others_wait), T(a_failed_look_up_counts_for_all_who_wait),
		T(numeric_addresses_need_no_look_up_and_ports_are_told_apart));
}
