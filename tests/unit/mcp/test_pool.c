/* SPDX-License-Identifier: MIT
 * test_pool.c - connections are shared, started a few at a time, ended after a moment of grace; sets of links. */
#include "unit.h"
#include "mcp/client/pool.h"
#include "peer.h"
#include "tests.h"

struct stage {
	struct peer peer;
	struct mcp_pool *pool;
	unsigned changes, settled, drained, gone;
	struct buf ends;
	struct mcp_selection *freed_on_change;
};

static void on_drained(void *data)
{
	((struct stage *)data)->drained++;
}

static void on_change(void *data)
{
	((struct stage *)data)->changes++;
}

static void on_settled(void *data)
{
	((struct stage *)data)->settled++;
}

static void stage_init(struct stage *s)
{
	struct mcp_host_events events = { .make_transport = peer_transport, .data = &s->peer };

	*s = (struct stage){ 0 };
	peer_init(&s->peer);
	s->pool = mcp_pool_new(&s->peer.env, &events);
}

static void stage_release(struct stage *s)
{
	mcp_pool_drain(s->pool, on_drained, s);
	CHECK_INT(s->drained, 0);
	loop_run(s->peer.loop);
	CHECK_INT(s->drained, 1);
	mcp_pool_free(s->pool);
	peer_release(&s->peer);
	buf_release(&s->ends);
}

static struct mcp_lease *join(struct stage *s, const char *name, const char *key, enum mcp_kind kind)
{
	struct mcp_server *server = peer_server(name, key, kind);
	struct mcp_lease *l = mcp_pool_join(s->pool, &s->peer.env, server, on_change, s);

	mcp_server_unref(server);
	return l;
}

TEST(a_thousand_links_with_one_key_share_one_connection)
{
	struct stage s;
	struct mcp_lease *links[1000];

	stage_init(&s);
	for (size_t i = 0; i < COUNT_OF(links); i++)
		links[i] = join(&s, "a", "k", MCP_STDIO);
	CHECK(mcp_lease_settling(links[7]));
	loop_run(s.peer.loop);
	CHECK_INT(s.peer.starts, 1);
	CHECK_INT(s.changes, 1000); /* state and catalog come in one turn */
	CHECK_INT(mcp_lease_state(links[999]), MCP_CONNECTED);
	mcp_pool_roots_changed(s.pool, &s.peer.env);
	CHECK(peer_was_sent(&s.peer, "notifications/roots/list_changed"));

	for (size_t i = 0; i < COUNT_OF(links); i++)
		mcp_lease_leave(links[i]);
	CHECK_INT(s.peer.alive, 1);
	peer_run_for(&s.peer, 1900);
	CHECK_INT(s.peer.alive, 1);
	loop_run(s.peer.loop);
	CHECK_INT(s.peer.alive, 0);
	stage_release(&s);
}

TEST(whoever_comes_in_the_time_of_grace_finds_the_connection_still_there)
{
	struct stage s;

	stage_init(&s);
	for (unsigned i = 0; i < 5; i++) {
		struct mcp_lease *l = join(&s, "a", "k", MCP_STDIO);
		peer_run_for(&s.peer, 500);
		mcp_lease_leave(l);
		peer_run_for(&s.peer, 1500);
	}

	CHECK_INT(s.peer.starts, 1);
	stage_release(&s);
}

TEST(other_keys_are_other_connections_and_some_servers_start_at_a_time)
{
	static const struct {
		enum mcp_kind kind;
		const char *variable, *value;
		unsigned at_a_time;
	} cases[] = {
		{ MCP_STDIO, "X", "1", 3 },
		{ MCP_HTTP, "X", "1", 20 },
		{ MCP_STDIO, "MCP_SERVER_CONNECTION_BATCH_SIZE", "5", 5 },
		{ MCP_HTTP, "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "7", 7 },
	};

	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		struct stage s;
		struct mcp_lease *links[50];
		unsigned connected = 0;
		setenv(cases[c].variable, cases[c].value, 1);
		stage_init(&s);
		unsetenv(cases[c].variable);
		s.peer.mute = true;
		for (unsigned i = 0; i < 50; i++) {
			char key[16];
			snprintf(key, sizeof key, "k%u", i);
			links[i] = join(&s, key, key, cases[c].kind);
		}
		peer_run_for(&s.peer, 1000);
		CHECK_INT(s.peer.starts, cases[c].at_a_time);
		CHECK(mcp_lease_settling(links[49]));
		s.peer.mute = false;
		loop_run(s.peer.loop);
		for (unsigned i = 0; i < 50; i++)
			connected += mcp_lease_state(links[i]) == MCP_CONNECTED;
		/* the first ones hung: processes fail for good, remote ones are tried again */
		CHECK_INT(connected, cases[c].kind == MCP_STDIO ? 50 - cases[c].at_a_time : 50);
		for (unsigned i = 0; i < 50; i++)
			mcp_lease_leave(links[i]);
		stage_release(&s);
	}
}

TEST(one_that_waits_for_its_turn_may_be_left)
{
	struct stage s;
	struct mcp_lease *links[5];

	stage_init(&s);
	s.peer.mute = true;
	for (unsigned i = 0; i < 5; i++)
		links[i] = join(&s, "x", (const char *[]){ "a", "b", "c", "d", "e" }[i], MCP_STDIO);
	mcp_lease_leave(links[3]);
	peer_run_for(&s.peer, 10);
	CHECK_INT(s.peer.starts, 3);
	mcp_lease_leave(links[0]);
	peer_run_for(&s.peer, 2500);
	CHECK_INT(s.peer.starts, 4); /* the place of one that was closed goes to the next */
	mcp_lease_leave(links[1]);
	mcp_lease_leave(links[2]);
	mcp_lease_leave(links[4]);
	stage_release(&s);
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct stage *s = data;

	(void)result;
	buf_addf(&s->ends, "%s\n", err ? err->text : "ok");
}

static struct mcp_request *call(struct stage *s, struct mcp_lease *l)
{
	return mcp_lease_call(l, &(struct mcp_call){ .method = "tools/call", .answer = on_answer, .data = s });
}

TEST(a_link_that_leaves_cancels_its_own_calls_only)
{
	struct stage s;
	struct mcp_lease *a, *b;

	stage_init(&s);
	a = join(&s, "a", "k", MCP_STDIO);
	b = join(&s, "a", "k", MCP_STDIO);
	loop_run(s.peer.loop);
	call(&s, a);
	call(&s, a);
	call(&s, b);
	int64_t of_b = peer_last_id(&s.peer);
	mcp_lease_leave(a);
	peer_run_for(&s.peer, 100);
	CHECK_STR(buf_str(&s.ends),
		  "the request to the server a was cancelled\nthe request to the server a was cancelled\n");
	CHECK(peer_was_sent(&s.peer, "\"reason\":\"the agent has ended\""));

	peer_say(&s.peer, "{\"id\":%lld,\"result\":{}}", (long long)of_b);
	peer_run_for(&s.peer, 100);
	CHECK(str_ends(buf_str(&s.ends), STR("\nok\n")));
	mcp_lease_leave(b);
	stage_release(&s);
}

TEST(a_disabled_link_has_no_connection_until_it_is_enabled)
{
	struct stage s;
	struct mcp_lease *l;

	stage_init(&s);
	l = join(&s, "a", "k", MCP_STDIO);
	loop_run(s.peer.loop);
	mcp_lease_enable(l, false);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_lease_state(l), MCP_DISABLED);
	CHECK_INT(s.peer.alive, 0);
	CHECK(mcp_lease_client(l) == NULL);
	call(&s, l);
	CHECK_INT(s.ends.n, 0);
	loop_run(s.peer.loop);
	CHECK_STR(buf_str(&s.ends), "the server is disabled\n");

	mcp_lease_enable(l, true);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_lease_state(l), MCP_CONNECTED);
	mcp_lease_leave(l);
	stage_release(&s);
}

TEST(draining_ends_what_is_still_in_use_and_nobody_joins_any_more)
{
	struct stage s;
	struct mcp_lease *l, *late;

	stage_init(&s);
	l = join(&s, "a", "k", MCP_STDIO);
	loop_run(s.peer.loop);
	call(&s, l);
	mcp_pool_drain(s.pool, on_drained, &s);
	late = join(&s, "b", "k2", MCP_STDIO);
	loop_run(s.peer.loop);

	CHECK_INT(s.drained, 1);
	CHECK_INT(s.peer.alive, 0);
	CHECK_STR(buf_str(&s.ends), "the connection to the server a was closed\n");
	CHECK_INT(mcp_lease_state(l), MCP_FAILED);
	CHECK_INT(mcp_lease_state(late), MCP_FAILED);
	mcp_lease_leave(l);
	mcp_lease_leave(late);
	mcp_pool_free(s.pool);
	peer_release(&s.peer);
	buf_release(&s.ends);
}

TEST(a_set_joins_a_name_once_and_shares_with_another)
{
	struct stage s;
	struct mcp_server *server = peer_server("my srv", "k", MCP_STDIO);
	struct mcp_selection *parent, *child;

	stage_init(&s);
	parent = mcp_selection_new(s.pool, &s.peer.env);
	child = mcp_selection_new(s.pool, &s.peer.env);
	struct mcp_lease *l = mcp_selection_join(parent, server);
	CHECK(mcp_selection_join(parent, server) == l);
	CHECK_INT(parent->count, 1);
	CHECK(mcp_selection_find(parent, STR("my srv")) == l);
	CHECK(mcp_selection_find(parent, STR("my_srv")) == l);
	CHECK(mcp_selection_find(parent, STR("my")) == NULL);
	CHECK(mcp_selection_share(child, parent, STR("other")) == NULL);
	CHECK(mcp_selection_share(child, parent, STR("my srv")) != NULL);
	loop_run(s.peer.loop);
	CHECK_INT(s.peer.starts, 1);

	mcp_selection_free(parent);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_lease_state(child->leases[0]), MCP_CONNECTED);
	mcp_selection_leave(child, STR("my srv"));
	CHECK_INT(child->count, 0);
	mcp_selection_free(child);
	mcp_server_unref(server);
	stage_release(&s);
}

TEST(sets_of_another_environment_have_connections_of_their_own)
{
	struct stage s;
	struct mcp_server *server = peer_server("a", "k", MCP_STDIO);
	struct mcp_selection *sets[3];

	stage_init(&s);
	struct mcp_env *env = mcp_env_new(&s.peer.env), *other = mcp_env_new(&s.peer.env);
	for (size_t i = 0; i < COUNT_OF(sets); i++) {
		sets[i] = mcp_selection_new(s.pool, i < 2 ? env : other);
		mcp_selection_join(sets[i], server);
	}
	mcp_env_unref(env);
	loop_run(s.peer.loop);
	CHECK_INT(s.peer.starts, 2);
	const struct mcp_client *shared = mcp_lease_client(sets[0]->leases[0]);
	CHECK(mcp_selection_has_client(sets[1], shared) && !mcp_selection_has_client(sets[2], shared));

	call(&s, sets[1]->leases[0]);
	mcp_selection_move(sets[1], other);
	peer_run_for(&s.peer, 100);
	CHECK_STR(buf_str(&s.ends), "the request to the server a was cancelled\n");
	CHECK(peer_was_sent(&s.peer, "\"reason\":\"the settings of its sandbox have changed\""));
	CHECK_INT(s.peer.starts, 2);
	CHECK(mcp_selection_has_client(sets[0], shared) && !mcp_selection_has_client(sets[1], shared));
	CHECK(mcp_selection_has_client(sets[1], mcp_lease_client(sets[2]->leases[0])));
	for (size_t i = 0; i < COUNT_OF(sets); i++)
		mcp_selection_free(sets[i]);
	mcp_env_unref(other);
	mcp_server_unref(server);
	stage_release(&s);
}

TEST(waiting_ends_when_all_have_settled_or_the_time_is_over)
{
	struct stage s;
	struct mcp_selection *set;

	stage_init(&s);
	set = mcp_selection_new(s.pool, &s.peer.env);
	mcp_selection_wait(set, 5000, on_settled, &s); /* nothing to wait for */
	CHECK_INT(s.settled, 0);
	peer_run_for(&s.peer, 0);
	CHECK_INT(s.settled, 1);

	mcp_selection_join(set, s.peer.server);
	CHECK(mcp_selection_settling(set));
	mcp_selection_wait(set, 5000, on_settled, &s);
	peer_run_for(&s.peer, 1);
	CHECK_INT(s.settled, 2);
	CHECK(!mcp_selection_settling(set));

	struct mcp_server *other = peer_server("other", "k2", MCP_STDIO);
	s.peer.mute = true;
	mcp_selection_join(set, other);
	mcp_server_unref(other);
	mcp_selection_wait(set, 5000, on_settled, &s);
	peer_run_for(&s.peer, 4900);
	CHECK_INT(s.settled, 2);
	peer_run_for(&s.peer, 200);
	CHECK_INT(s.settled, 3);

	mcp_selection_wait(set, 5000, on_settled, &s);
	mcp_selection_free(set);
	loop_run(s.peer.loop);
	CHECK_INT(s.settled, 3);
	stage_release(&s);
}

static void free_set(void *data)
{
	struct stage *s = data;

	s->changes++;
	mcp_selection_free(s->freed_on_change);
}

TEST(a_change_is_told_once_a_turn_and_whoever_is_told_may_free_the_set)
{
	struct stage s;
	struct mcp_server *other = peer_server("other", "k2", MCP_STDIO);

	stage_init(&s);
	s.freed_on_change = mcp_selection_new(s.pool, &s.peer.env);
	mcp_selection_join(s.freed_on_change, s.peer.server);
	mcp_selection_join(s.freed_on_change, other);
	mcp_selection_on_change(s.freed_on_change, free_set, &s);
	mcp_selection_wait(s.freed_on_change, 60000, on_settled, &s);
	loop_run(s.peer.loop);

	CHECK_INT(s.changes, 1);
	CHECK_INT(s.settled, 0);
	mcp_server_unref(other);
	stage_release(&s);
}

int test_pool(void)
{
	return RUN_TESTS(T(a_thousand_links_with_one_key_share_one_connection),
			 T(whoever_comes_in_the_time_of_grace_finds_the_connection_still_there),
			 T(other_keys_are_other_connections_and_some_servers_start_at_a_time),
			 T(one_that_waits_for_its_turn_may_be_left), T(a_link_that_leaves_cancels_its_own_calls_only),
			 T(a_disabled_link_has_no_connection_until_it_is_enabled),
			 T(draining_ends_what_is_still_in_use_and_nobody_joins_any_more),
			 T(a_set_joins_a_name_once_and_shares_with_another),
			 T(sets_of_another_environment_have_connections_of_their_own),
			 T(waiting_ends_when_all_have_settled_or_the_time_is_over),
			 T(a_change_is_told_once_a_turn_and_whoever_is_told_may_free_the_set));
}
