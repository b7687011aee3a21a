/* SPDX-License-Identifier: MIT
 * test_oauth_store.c - grants on disk, and the address to which the browser comes back. */
#include "unit.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "lib/io/change_queue.h"
#include "mcp/servers/server.h"
#include "tests.h"

struct place {
	char dir[FOLDER_MAX], file[96];
};

static void place_init(struct place *p)
{
	folder_make(p->dir);
	snprintf(p->file, sizeof p->file, "%s/t.json", p->dir);
}

static void place_release(struct place *p)
{
	char lock[112];

	snprintf(lock, sizeof lock, "%s.lock", p->file);
	(void)unlink(lock);
	(void)unlink(p->file);
	CHECK_INT(rmdir(p->dir), 0); /* nothing else was left there */
}

static void put_text(const struct place *p, const char *text)
{
	CHECK_INT(file_replace(p->file, text, strlen(text), NULL), 0);
}

static char *get_text(const struct place *p)
{
	struct buf text = { 0 };

	CHECK_INT(file_read(p->file, 1 << 20, &text, NULL), 0);
	return buf_take(&text, NULL);
}

static const struct oauth_grant whole = {
	.issuer = "https://i",
	.token_url = "https://i/t",
	.resource = "https://r",
	.scope = "a",
	.client = { .id = "id",
		    .secret = "se\"cret",
		    .method = OAUTH_POST,
		    .registered = true,
		    .port = 4000,
		    .expires_ms = 7 },
	.token = { .access = "acc", .refresh = "ref", .scope = "a b", .expires_ms = 1LL << 41, .renew_ms = 12 },
};

TEST(what_is_put_comes_back_whole)
{
	struct place p;
	struct oauth_grant *g = NULL;
	place_init(&p);

	CHECK_INT(oauth_store_put(NULL, p.file, "k", "https://u", &whole, NULL), 0);
	CHECK_INT(oauth_store_get(p.file, "k", &g, NULL), 0);

	CHECK_CSTR(g->issuer, "https://i");
	CHECK_CSTR(g->token_url, "https://i/t");
	CHECK_CSTR(g->resource, "https://r");
	CHECK_CSTR(g->scope, "a");
	CHECK_CSTR(g->client.id, "id");
	CHECK_CSTR(g->client.secret, "se\"cret");
	CHECK_INT(g->client.method, OAUTH_POST);
	CHECK(g->client.registered);
	CHECK_INT(g->client.port, 4000);
	CHECK_INT(g->client.expires_ms, 7);
	CHECK_CSTR(g->token.access, "acc");
	CHECK_CSTR(g->token.refresh, "ref");
	CHECK_CSTR(g->token.scope, "a b");
	CHECK_INT(g->token.expires_ms, 1LL << 41);
	CHECK_INT(g->token.renew_ms, 12);
	oauth_grant_free(g);
	place_release(&p);
}

TEST(other_entries_and_unknown_members_stay)
{
	struct place p;
	place_init(&p);
	put_text(&p,
		 "{\"note\": [1, 2.50], \"servers\": {\"other\": {\"url\": \"https://o\", \"x\": 1e3}, \"k\": {}}}");

	CHECK_INT(oauth_store_put(NULL, p.file, "k", "https://u", &whole, NULL), 0);
	AUTO_FREE char *text = get_text(&p);
	CHECK(strstr(
		text,
		"{\"note\":[1, 2.50],\"servers\":{\"other\":{\"url\": \"https://o\", \"x\": 1e3},\"k\":{\"url\":\"https://u\","));
	place_release(&p);
}

TEST(a_file_that_others_could_read_is_closed_to_them)
{
	struct place p;
	struct stat st;
	place_init(&p);
	put_text(&p, "{}");
	CHECK_INT(chmod(p.file, 0644), 0);

	CHECK_INT(oauth_store_put(NULL, p.file, "k", "https://u", &whole, NULL), 0);

	CHECK_INT(stat(p.file, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	place_release(&p);
}

TEST(a_lock_that_is_never_given_back_is_not_waited_for)
{
	struct place p;
	struct err err = { 0 };
	AUTO_BUF struct buf path = { 0 };
	place_init(&p);
	buf_addf(&path, "%s.lock", p.file);
	AUTO_CLOSE int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(flock(fd, LOCK_EX), 0);

	alarm(30);
	CHECK_INT(oauth_store_put(NULL, p.file, "k", "https://u", &whole, &err), -ERR_BUSY);
	alarm(0);

	CHECK(strstr(err.text, path.p));
	place_release(&p);
}

struct held_lock {
	struct timer timer;
	int fd;
};

static void let_go(struct timer *timer)
{
	close(CONTAINER_OF(timer, struct held_lock, timer)->fd);
}

TEST(a_grant_whose_lock_is_held_is_written_when_it_is_free)
{
	struct place p;
	struct loop *loop = loop_new(0);
	struct change_queue q = { .loop = loop };
	struct held_lock held = { .timer.fire = let_go };
	struct oauth_grant *grant = NULL;
	AUTO_BUF struct buf path = { 0 };
	place_init(&p);
	buf_addf(&path, "%s.lock", p.file);
	held.fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(flock(held.fd, LOCK_EX), 0);

	CHECK_INT(oauth_store_put(&q, p.file, "k", "https://u", &whole, NULL), 0);
	CHECK_INT(oauth_store_get(p.file, "k", &grant, NULL), 0);
	CHECK(!grant);
	timer_start(loop, &held.timer, 20);
	change_queue_drain(&q);

	CHECK_INT(oauth_store_get(p.file, "k", &grant, NULL), 0);
	CHECK_CSTR(grant->token.access, whole.token.access);
	oauth_grant_free(grant);
	loop_free(loop);
	place_release(&p);
}

TEST(a_file_that_is_not_ours_is_left_alone)
{
	static const char *const texts[] = { "{\"servers\":", "[]", "{\"servers\":[]}", "not JSON" };

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct place p;
		struct oauth_grant *g = NULL;
		place_init(&p);
		put_text(&p, texts[i]);
		CHECK(oauth_store_put(NULL, p.file, "k", "https://u", &whole, NULL) < 0);
		CHECK(oauth_store_get(p.file, "k", &g, NULL) < 0);
		AUTO_FREE char *after = get_text(&p);
		CHECK_CSTR(after, texts[i]);
		place_release(&p);
	}
}

TEST(an_entry_that_lacks_something_is_none)
{
	struct place p;
	struct oauth_grant *g = NULL;
	place_init(&p);
	put_text(&p, "{\"servers\":{\"k\":{\"issuer\":\"https://i\",\"token\":{\"access\":\"a\"}}}}");

	CHECK_INT(oauth_store_get(p.file, "k", &g, NULL), 0);
	CHECK(!g);
	CHECK_INT(oauth_store_get(p.file, "other", &g, NULL), 0);
	CHECK(!g);
	place_release(&p);
}

TEST(the_key_tells_clients_of_one_server_apart_and_shows_no_secret)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct mcp_server one = { .url = "https://u", .oauth = { .client_id = "me" } };
	struct mcp_server two = { .url = "https://u", .oauth = { .client_id = "me", .client_secret = "hush" } };
	const char *key = oauth_store_key(&arena, &two);

	CHECK(str_starts(str_from(key), STR("https://u ")));
	CHECK(strcmp(oauth_store_key(&arena, &one), key) != 0);
	CHECK_CSTR(oauth_store_key(&arena, &two), key);
	CHECK(!strstr(key, "hush"));
}

struct visit {
	struct loop *loop;
	struct http *http;
	struct oauth_callback *callback;
	unsigned replies;
};

static void on_reply(void *visit)
{
	((struct visit *)visit)->replies++;
}

static void on_page(void *visit)
{
	loop_stop(((struct visit *)visit)->loop);
}

static void visit_init(struct visit *v)
{
	*v = (struct visit){ .loop = loop_new(0) };
	v->http = http_new(v->loop, &(struct http_options){ 0 });
	CHECK_INT(oauth_callback_open(v->loop, 0, "s3cret", on_reply, v, &v->callback, NULL), 0);
}

static void visit_release(struct visit *v)
{
	oauth_callback_close(v->callback);
	loop_run(v->loop);
	http_free(v->http);
	loop_free(v->loop);
}

/* The status of the page; body NULL: a GET. */
static int visit(struct visit *v, const char *target, const char *body)
{
	char url[256];
	int status = 0;
	struct str page;

	snprintf(url, sizeof url, "http://127.0.0.1:%u%s", oauth_callback_port(v->callback), target);
	struct oauth_fetch *f = oauth_fetch_start(
		v->loop, v->http,
		&(struct oauth_request){ .url = url, .body_type = body ? "text/plain" : NULL, .body = str_from(body) },
		on_page, v);
	loop_run(v->loop);
	CHECK_INT(oauth_fetch_answer(f, &status, &page, NULL), 0);
	CHECK(str_starts(page, STR("<!doctype html>")));
	oauth_fetch_free(f);
	return status;
}

TEST(only_the_answer_with_our_state_is_taken_and_only_once)
{
	struct visit v;
	visit_init(&v);

	CHECK_INT(visit(&v, "/callback?code=c&state=wrong", NULL), 400);
	CHECK_INT(visit(&v, "/callback?code=c", NULL), 400);
	CHECK_INT(visit(&v, "/callback", NULL), 400);
	CHECK_INT(visit(&v, "/other?code=c&state=s3cret", NULL), 400);
	CHECK_INT(visit(&v, "/callback?code=c&state=s3cret", "x"), 400);
	CHECK(!oauth_callback_reply(v.callback));
	CHECK_INT(visit(&v, "/callback?code=a%2Fb&state=s3cret&iss=i", NULL), 200);
	CHECK_INT(visit(&v, "/callback?code=late&state=s3cret", NULL), 400);

	CHECK_INT(v.replies, 1);
	CHECK_CSTR(oauth_callback_reply(v.callback)->code, "a/b");
	CHECK_CSTR(oauth_callback_reply(v.callback)->issuer, "i");
	CHECK(!oauth_callback_reply(v.callback)->error);
	visit_release(&v);
}

static int connect_to(unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
	return fd;
}

TEST(visitors_that_say_nothing_or_too_much_are_in_nobodys_way)
{
	struct visit v;
	static char flood[20 << 10];
	visit_init(&v);
	unsigned port = oauth_callback_port(v.callback);
	int silent = connect_to(port);
	int loud = connect_to(port);
	memset(flood, 'x', sizeof flood);
	CHECK_INT(send(loud, flood, sizeof flood, MSG_NOSIGNAL), sizeof flood);

	CHECK_INT(visit(&v, "/callback?code=c&state=s3cret", NULL), 200);

	visit_release(&v); /* the silent one is closed with it */
	close(silent);
	close(loud);
}

TEST(a_port_that_is_taken_is_an_error)
{
	struct visit v;
	struct oauth_callback *second = NULL;
	struct err err = { 0 };
	visit_init(&v);

	CHECK_INT(oauth_callback_open(v.loop, oauth_callback_port(v.callback), "s", on_reply, &v, &second, &err),
		  -ERR_IO);
	CHECK(strstr(err.text, "cannot listen on 127.0.0.1:"));
	visit_release(&v);
}

int test_oauth_store(void)
{
	return RUN_TESTS(T(what_is_put_comes_back_whole), T(other_entries_and_unknown_members_stay),
			 T(a_lock_that_is_never_given_back_is_not_waited_for),
			 T(a_grant_whose_lock_is_held_is_written_when_it_is_free),
			 T(a_file_that_others_could_read_is_closed_to_them), T(a_file_that_is_not_ours_is_left_alone),
			 T(an_entry_that_lacks_something_is_none),
			 T(the_key_tells_clients_of_one_server_apart_and_shows_no_secret),
			 T(only_the_answer_with_our_state_is_taken_and_only_once),
			 T(visitors_that_say_nothing_or_too_much_are_in_nobodys_way),
			 T(a_port_that_is_taken_is_an_error));
}
