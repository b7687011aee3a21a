/* SPDX-License-Identifier: MIT
 * test_client_connect.c - tries: what follows when a server cannot be had, dies or forgets the session. */
#include "client_stage.h"
#include "tests.h"

TEST(calls_in_flight_end_when_the_server_dies_and_those_that_wait_get_the_new_one)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{\"n\":1}", 0);
	peer_die(&s.peer, "it was killed by signal 9", false, false);
	peer_run_for(&s.peer, 500);
	CHECK_STR(buf_str(&s.ends), "error 1 the server srv died during the call: it was killed by signal 9\n");
	CHECK_INT(mcp_client_state(s.client), MCP_PENDING);

	buf_clear(&s.ends);
	client_ask(&s, "{\"n\":2}", 0);
	CHECK(!peer_was_sent(&s.peer, "\"n\":2"));
	peer_run_for(&s.peer, 1000);
	CHECK(peer_was_sent(&s.peer, "\"n\":2"));
	CHECK_INT(s.peer.starts, 2);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 pending connected ");
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);
	CHECK_STR(buf_str(&s.ends), "result {}\n");
	client_stage_release(&s);
}

TEST(a_call_that_waits_outlives_a_failed_handshake_and_no_answer_comes_before_it_was_sent)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	s.peer.mute = true;
	peer_die(&s.peer, "gone", false, false);
	peer_run_for(&s.peer, 1500);
	client_ask(&s, "{\"n\":1}", 0);
	peer_say(&s.peer, "{\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s.peer) + 1);
	peer_run_for(&s.peer, 10);
	CHECK_INT(s.ends.n, 0);
	peer_die(&s.peer, "gone again", false, false);
	s.peer.mute = false;
	peer_run_for(&s.peer, 3000);
	CHECK(peer_was_sent(&s.peer, "\"n\":1"));
	CHECK_INT(s.ends.n, 0);
	peer_say(&s.peer, "{\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);
	CHECK_STR(buf_str(&s.ends), "result {}\n");
	client_stage_release(&s);
}

TEST(a_call_that_waits_fails_with_the_last_try)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	s.peer.refuse_starts = 9;
	peer_die(&s.peer, "gone", false, false);
	peer_run_for(&s.peer, 10);
	client_ask(&s, "{}", 0);
	uint64_t before = loop_now_ms(s.peer.loop);
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 1 the server srv is not connected: refused\n");
	CHECK(loop_now_ms(s.peer.loop) - before < 8000);
	client_stage_release(&s);
}

TEST(a_process_is_started_again_at_most_three_times_in_a_row)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	for (unsigned i = 0; i < 3; i++) {
		peer_die(&s.peer, "gone", false, false);
		loop_run(s.peer.loop);
		CHECK_INT(s.peer.starts, i + 2);
		CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	}
	peer_die(&s.peer, "gone", false, false);
	loop_run(s.peer.loop);

	CHECK_INT(s.peer.starts, 4);
	CHECK_INT(mcp_client_state(s.client), MCP_FAILED);
	CHECK_CSTR(mcp_client_error(s.client), "gone");
	client_ask(&s, "{}", 0);
	loop_run(s.peer.loop);
	CHECK_STR(buf_str(&s.ends), "error 1 the server srv is not connected: gone\n");

	mcp_client_start(s.client);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	client_stage_release(&s);
}

TEST(a_connection_that_held_for_a_minute_forgets_the_failures_before_it)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	for (unsigned i = 0; i < 10; i++) {
		peer_run_for(&s.peer, 61000);
		peer_die(&s.peer, "gone", false, false);
		loop_run(s.peer.loop);
		CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	}
	client_stage_release(&s);
}

TEST(a_process_that_does_not_start_is_not_tried_again_and_a_remote_server_is_tried_three_times)
{
	static const struct {
		enum mcp_kind kind;
		unsigned refusals, starts, ms;
		enum mcp_state state;
	} cases[] = {
		{ MCP_STDIO, 1, 1, 0, MCP_FAILED },
		{ MCP_HTTP, 1, 2, 1000, MCP_CONNECTED },
		{ MCP_HTTP, 9, 3, 3000, MCP_FAILED },
		{ MCP_SSE, 2, 3, 3000, MCP_CONNECTED },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct client_stage s;
		client_stage_init(&s);
		s.peer.server->kind = cases[i].kind;
		s.peer.refuse_starts = cases[i].refusals;
		uint64_t before = loop_now_ms(s.peer.loop);
		client_stage_connect(&s);
		CHECK_INT(s.peer.starts, cases[i].starts);
		CHECK_INT(loop_now_ms(s.peer.loop) - before, cases[i].ms);
		CHECK_INT(mcp_client_state(s.client), cases[i].state);
		client_stage_release(&s);
	}
}

TEST(a_remote_server_that_was_lost_is_tried_after_1_2_4_8_and_16_seconds)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.server->kind = MCP_HTTP;
	client_stage_connect(&s);
	uint64_t before = loop_now_ms(s.peer.loop);
	s.peer.refuse_starts = 99;
	peer_die(&s.peer, "reset", false, false);
	loop_run(s.peer.loop);

	CHECK_INT(s.peer.starts, 6);
	CHECK_INT(loop_now_ms(s.peer.loop) - before, 31000);
	CHECK_INT(mcp_client_state(s.client), MCP_FAILED);
	client_stage_release(&s);
}

TEST(a_session_that_the_server_forgot_is_opened_again_at_once)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.server->kind = MCP_HTTP;
	client_stage_connect(&s);
	peer_run_for(&s.peer, 5000);
	uint64_t before = loop_now_ms(s.peer.loop);
	peer_die(&s.peer, "the session is gone", false, true);
	loop_run(s.peer.loop);

	CHECK_INT(s.peer.starts, 2);
	CHECK_INT(loop_now_ms(s.peer.loop) - before, 0);
	CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	client_stage_release(&s);
}

TEST(a_server_that_wants_a_person_is_not_tried_again_until_started)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.server->kind = MCP_HTTP;
	s.peer.mute = true;
	client_stage_connect(&s);
	CHECK_INT(mcp_client_state(s.client), MCP_FAILED); /* nothing was answered, three times */
	mcp_client_start(s.client);
	peer_die(&s.peer, "401", true, false);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_client_state(s.client), MCP_NEEDS_AUTH);

	s.peer.mute = false;
	mcp_client_start(s.client);
	loop_run(s.peer.loop);
	CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	client_stage_release(&s);
}

TEST(a_server_that_hangs_at_its_start_fails_after_the_time_to_connect)
{
	struct client_stage s;

	setenv("MCP_TIMEOUT", "7000", 1);
	client_stage_init(&s);
	s.peer.mute = true;
	uint64_t before = loop_now_ms(s.peer.loop);
	client_stage_connect(&s);
	unsetenv("MCP_TIMEOUT");

	CHECK_INT(mcp_client_state(s.client), MCP_FAILED);
	CHECK_CSTR(mcp_client_error(s.client), "the server srv timed out after 7 s");
	CHECK_INT(loop_now_ms(s.peer.loop) - before, 7000);
	CHECK_INT(s.peer.alive, 0);
	CHECK(!peer_was_sent(&s.peer, "notifications/cancelled"));
	client_stage_release(&s);
}

int test_client_connect(void)
{
	return RUN_TESTS(T(a_call_that_waits_outlives_a_failed_handshake_and_no_answer_comes_before_it_was_sent),
			 T(a_call_that_waits_fails_with_the_last_try),
			 T(calls_in_flight_end_when_the_server_dies_and_those_that_wait_get_the_new_one),
			 T(a_process_is_started_again_at_most_three_times_in_a_row),
			 T(a_connection_that_held_for_a_minute_forgets_the_failures_before_it),
			 T(a_process_that_does_not_start_is_not_tried_again_and_a_remote_server_is_tried_three_times),
			 T(a_remote_server_that_was_lost_is_tried_after_1_2_4_8_and_16_seconds),
			 T(a_session_that_the_server_forgot_is_opened_again_at_once),
			 T(a_server_that_wants_a_person_is_not_tried_again_until_started),
			 T(a_server_that_hangs_at_its_start_fails_after_the_time_to_connect));
}
