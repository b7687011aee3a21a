/* SPDX-License-Identifier: MIT
 * test_wait.c - who waits for a credential: one fetch for all, a newer generation for those who were refused. */
#include "unit.h"
#include <stdlib.h>
#include <unistd.h>
#include "core/credential/credential.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"
#include "test_credential.h"

enum { WAITERS = 500 };

struct stage {
	struct loop *loop;
	struct spawner *spawner;
	struct credential *credential;
	char folder[64];
	unsigned ready, failed;
	char why[256];
};

struct waiter {
	struct credential_wait wait;
	struct stage *stage;
};

static void on_ready(struct credential_wait *w, const struct err *why)
{
	struct waiter *waiter = CONTAINER_OF(w, struct waiter, wait);

	waiter->stage->ready += why == NULL;
	waiter->stage->failed += why != NULL;
	if (why)
		snprintf(waiter->stage->why, sizeof waiter->stage->why, "%s", why->text);
}

static void stage_init(struct stage *s, const char *command, uint64_t ttl_ms)
{
	char full[256];

	*s = (struct stage){ .folder = "/tmp/cadre-credential-XXXXXX" };
	assert_non_null(mkdtemp(s->folder));
	s->loop = loop_new(0);
	s->spawner = spawner_new(s->loop);
	snprintf(full, sizeof full, "cd %s && echo x >> count && %s", s->folder, command);
	s->credential =
		credential_new(CREDENTIAL_HELPER, &(struct credential_options){ .loop = s->loop,
										.spawner = s->spawner,
										.helper = full,
										.helper_headers = { "x-api-key: %s" },
										.helper_ttl_ms = ttl_ms });
}

static size_t stage_fetches(const struct stage *s)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	char path[128];

	snprintf(path, sizeof path, "%s/count", s->folder);
	(void)file_read(path, 1 << 20, &text, &err);
	return text.n / 2;
}

static void stage_close(struct stage *s)
{
	char path[128];

	credential_stop(s->credential);
	while (credential_busy(s->credential))
		loop_run(s->loop);
	credential_free(s->credential);
	spawner_free(s->spawner);
	loop_free(s->loop);
	snprintf(path, sizeof path, "%s/count", s->folder);
	unlink(path);
	rmdir(s->folder);
}

static unsigned want_all(struct stage *s, struct waiter *waiters)
{
	unsigned before = s->ready + s->failed;

	for (size_t i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){ { .on_ready = on_ready }, s };
		credential_want(s->credential, &waiters[i].wait);
	}
	while (s->ready + s->failed < before + WAITERS)
		loop_run(s->loop);
	return s->ready;
}

static const char *key_of(const struct stage *s, struct arena *a, unsigned *ret_generation)
{
	const char *headers[CREDENTIAL_MOST_HEADERS + 1];

	credential_sign(s->credential, &(struct credential_request){ .method = "POST", .url = "http://h/" }, a, headers,
			ret_generation);
	return headers[0];
}

TEST(five_hundred_requests_cost_one_fetch_and_one_more_after_a_refusal)
{
	AUTO_ARENA struct arena a = { 0 };
	static struct waiter waiters[WAITERS];
	struct stage s;
	unsigned old, new;
	stage_init(&s, "echo key$(wc -l < count)", 60000);

	CHECK(!credential_ready(s.credential));
	CHECK_INT(want_all(&s, waiters), WAITERS);
	CHECK_INT(stage_fetches(&s), 1);
	CHECK(credential_ready(s.credential));
	CHECK_CSTR(key_of(&s, &a, &old), "x-api-key: key1");
	for (size_t i = 0; i < WAITERS; i++) /* all were refused with the same one */
		CHECK(credential_refused(s.credential, old));
	CHECK_INT(want_all(&s, waiters), 2 * WAITERS);
	CHECK_INT(stage_fetches(&s), 2);
	CHECK_CSTR(key_of(&s, &a, &new), "x-api-key: key2");
	CHECK(new != old &&credential_refused(s.credential, old)); /* a straggler takes the new one */
	CHECK(credential_ready(s.credential));
	stage_close(&s);
}

TEST(a_failure_reaches_all_who_wait_and_the_next_one_tries_again)
{
	static struct waiter waiters[WAITERS];
	struct stage s;
	stage_init(&s, "echo no-secret; echo broken >&2; exit 4", 60000);

	CHECK_INT(want_all(&s, waiters), 0);
	CHECK_INT(s.failed, WAITERS);
	CHECK(strstr(s.why, "exit code 4: broken") && !strstr(s.why, "no-secret"));
	CHECK_INT(stage_fetches(&s), 1);
	(void)want_all(&s, waiters);
	CHECK_INT(stage_fetches(&s), 2);
	stage_close(&s);
}

TEST(who_stops_waiting_is_not_called_and_a_running_command_is_ended)
{
	struct stage s;
	stage_init(&s, "exec sleep 1000", 60000);
	struct waiter w = { { .on_ready = on_ready }, &s };

	credential_want(s.credential, &w.wait);
	CHECK(credential_busy(s.credential));
	credential_cancel(s.credential, &w.wait);
	stage_close(&s);
	CHECK_INT(s.ready + s.failed, 0);
}

TEST(an_expired_one_is_fetched_again)
{
	static struct waiter waiters[WAITERS];
	struct stage s;
	stage_init(&s, "echo key", 0);

	(void)want_all(&s, waiters);
	CHECK(!credential_ready(s.credential));
	(void)want_all(&s, waiters);
	CHECK_INT(stage_fetches(&s), 2);
	stage_close(&s);
}

TEST(a_life_beyond_time_is_a_long_one)
{
	static const uint64_t lives[] = { UINT64_MAX, INT64_MAX };
	static struct waiter waiters[WAITERS];

	for (size_t i = 0; i < COUNT_OF(lives); i++) {
		struct stage s;
		stage_init(&s, "echo key", lives[i]);
		(void)want_all(&s, waiters);
		CHECK(credential_ready(s.credential));
		CHECK_INT(stage_fetches(&s), 1);
		stage_close(&s);
	}
}

TEST(a_renewal_that_fails_leaves_what_is_still_good)
{
	AUTO_ARENA struct arena a = { 0 };
	static struct waiter waiters[WAITERS];
	struct stage s;
	unsigned first, second;
	stage_init(&s, "[ $(wc -l < count) = 1 ] && echo key1", 0);

	CHECK_INT(want_all(&s, waiters), WAITERS);
	CHECK_CSTR(key_of(&s, &a, &first), "x-api-key: key1");
	CHECK(!credential_ready(s.credential));
	CHECK_INT(want_all(&s, waiters), 2 * WAITERS);
	CHECK_INT(stage_fetches(&s), 2);
	CHECK_CSTR(key_of(&s, &a, &second), "x-api-key: key1");
	CHECK_INT(second, first);
	CHECK(credential_ready(s.credential)); /* not with every request */
	CHECK(credential_refused(s.credential, second));
	CHECK_INT(want_all(&s, waiters), 2 * WAITERS);
	CHECK_INT(s.failed, WAITERS);
	CHECK(strstr(s.why, "exit code 1"));
	stage_close(&s);
}

int test_wait(void)
{
	return RUN_TESTS(T(five_hundred_requests_cost_one_fetch_and_one_more_after_a_refusal),
			 T(a_failure_reaches_all_who_wait_and_the_next_one_tries_again),
			 T(who_stops_waiting_is_not_called_and_a_running_command_is_ended),
			 T(an_expired_one_is_fetched_again), T(a_life_beyond_time_is_a_long_one),
			 T(a_renewal_that_fails_leaves_what_is_still_good));
}
