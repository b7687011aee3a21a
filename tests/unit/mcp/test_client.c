/* SPDX-License-Identifier: MIT
 * test_client.c - one connection: the handshake, calls and their ends. */
#include "client_stage.h"
#include <math.h>
#include "tests.h"

TEST(a_client_says_hello_and_learns_what_the_server_offers)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);

	struct mcp_catalog *catalog = mcp_client_catalog(s.client);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 ");
	CHECK_STR(buf_str(&s.peer.sent), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	CHECK_CSTR(s.peer.ready_version, "2025-11-25");
	CHECK_CSTR(catalog->tools[0].name, "echo");
	CHECK_CSTR(catalog->instructions, "be kind");
	CHECK_CSTR(catalog->server_name, "scripted");
	CHECK(!catalog->has_resources);
	mcp_catalog_unref(catalog);
	client_stage_release(&s);
}

TEST(hello_names_the_version_and_what_we_can_do)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.mute = true;
	client_stage_connect(&s);

	CHECK(peer_was_sent(&s.peer,
			    "\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
			    "{\"roots\":{\"listChanged\":true},\"elicitation\":{\"form\":{},\"url\":{}}},"
			    "\"clientInfo\":{\"name\":\"cadre\""));
	client_stage_release(&s);
}

TEST(older_versions_are_taken_and_unknown_ones_are_named)
{
	static const struct {
		const char *version;
		bool good;
	} cases[] = {
		{ "2025-11-25", true }, { "2025-06-18", true },  { "2025-03-26", true }, { "2024-11-05", true },
		{ "2024-10-07", true }, { "2026-07-28", false }, { "1.0", false },       { "", false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct client_stage s;
		client_stage_init(&s);
		s.peer.version = cases[i].version;
		client_stage_connect(&s);
		CHECK_INT(mcp_client_state(s.client), cases[i].good ? MCP_CONNECTED : MCP_FAILED);
		if (!cases[i].good) {
			AUTO_BUF struct buf text = { 0 };
			buf_addf(&text,
				 "the server srv uses MCP version \"%s\"; supported are 2025-11-25 to 2024-10-07",
				 cases[i].version);
			CHECK_CSTR(mcp_client_error(s.client), text.p);
			CHECK_INT(s.peer.closes, 1);
		}
		client_stage_release(&s);
	}
}

TEST(a_call_carries_its_meta_and_gets_its_result)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{\"name\":\"echo\",\n\"arguments\":{\"a\":1}}", 0);
	long long id = peer_last_id(&s.peer);
	AUTO_BUF struct buf want = { 0 };
	buf_addf(&want,
		 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\", "
		 "\"arguments\":{\"a\":1},\"_meta\":{\"claudecode/toolUseId\":\"toolu_7\",\"progressToken\":%lld}}}\n",
		 id, id);
	CHECK(peer_was_sent(&s.peer, want.p));

	peer_say(&s.peer,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%lld,"
		 "\"progress\":0.5}}",
		 id);
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"ok\":true}}", id);
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"ok\":false}}", id);
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "result {\"ok\":true}\n");
	CHECK(fabs(s.progress - 0.5) < 1e-9);
	client_stage_release(&s);
}

TEST(an_error_of_the_server_is_told_with_its_code)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{}", 0);
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32602,\"message\":\"no such tool\"}}",
		 (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 9 the server srv answered with error -32602: no such tool\n");
	client_stage_release(&s);
}

TEST(a_call_that_takes_too_long_is_withdrawn_and_its_late_answer_ignored)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	uint64_t before = loop_now_ms(s.peer.loop);
	client_ask(&s, "{}", 2500);
	long long id = peer_last_id(&s.peer);
	loop_run(s.peer.loop);
	CHECK_INT(loop_now_ms(s.peer.loop) - before, 2500);
	CHECK_STR(buf_str(&s.ends), "error 8 the server srv timed out after 2.5 s\n");
	CHECK(peer_was_sent(&s.peer, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"));
	CHECK_INT(s.peer.dropped, 1);

	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}", id);
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 8 the server srv timed out after 2.5 s\n");
	client_stage_release(&s);
}

TEST(the_timeout_of_a_server_or_of_the_environment_is_that_of_its_calls)
{
	struct client_stage s;

	setenv("MCP_TOOL_TIMEOUT", "3000", 1);
	for (unsigned i = 0; i < 2; i++) {
		client_stage_init(&s);
		s.peer.server->timeout_ms = i ? 4000 : 0; /* 0: the environment says it */
		client_stage_connect(&s);
		client_ask(&s, "{}", 0);
		loop_run(s.peer.loop);

		CHECK_STR(buf_str(&s.ends), i ? "error 8 the server srv timed out after 4 s\n"
					      : "error 8 the server srv timed out after 3 s\n");
		client_stage_release(&s);
	}
	unsetenv("MCP_TOOL_TIMEOUT");
}

TEST(a_time_limit_beyond_time_is_none)
{
	struct client_stage s;

	setenv("MCP_TOOL_TIMEOUT", "18446744073709551615", 1);
	client_stage_init(&s);
	client_stage_connect(&s);
	unsetenv("MCP_TOOL_TIMEOUT");
	client_ask(&s, "{}", 0);
	peer_run_for(&s.peer, 900);
	CHECK_STR(buf_str(&s.ends), "");
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);

	CHECK(str_starts(buf_str(&s.ends), STR("result")));
	client_stage_release(&s);
}

TEST(a_call_without_a_sign_of_life_ends_and_progress_is_one)
{
	struct client_stage s;

	setenv("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "1000", 1);
	client_stage_init(&s);
	client_stage_connect(&s);
	unsetenv("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT");
	uint64_t before = loop_now_ms(s.peer.loop);
	client_ask(&s, "{}", 0);
	peer_run_for(&s.peer, 900);
	peer_say(&s.peer,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%lld,"
		 "\"progress\":1}}",
		 (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 8 the server srv timed out: no message for 1 s\n");
	CHECK_INT(loop_now_ms(s.peer.loop) - before, 1900);
	client_stage_release(&s);
}

TEST(a_cancelled_call_is_cancelled_at_the_server_and_told_once_from_the_loop)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	struct mcp_request *r = client_ask(&s, "{}", 0);
	mcp_request_cancel(r, "no longer wanted");
	mcp_request_cancel(r, "twice");
	CHECK_INT(s.ends.n, 0);
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 7 the request to the server srv was cancelled\n");
	CHECK(peer_was_sent(&s.peer, "\"reason\":\"no longer wanted\"}}\n"));
	CHECK(!peer_was_sent(&s.peer, "twice"));
	client_stage_release(&s);
}

TEST(an_answer_that_crosses_a_cancel_is_ignored)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	struct mcp_request *r = client_ask(&s, "{}", 0);
	peer_say(&s.peer, "{\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s.peer));
	mcp_request_cancel(r, "too late");
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 7 the request to the server srv was cancelled\n");
	client_stage_release(&s);
}

TEST(a_message_that_is_lost_ends_its_call)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{}", 0);
	peer_lose(&s.peer, peer_last_id(&s.peer), "HTTP status 500");
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 1 the server srv: HTTP status 500\n");
	client_stage_release(&s);
}

TEST(closing_ends_open_calls_and_says_so_once)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{}", 0);
	mcp_request_cancel(client_ask(&s, "{}", 0), "x");
	mcp_client_close(s.client, client_on_closed, &s);
	loop_run(s.peer.loop);
	s.client = NULL;

	CHECK_INT(s.closed, 1);
	CHECK(str_has(buf_str(&s.ends), STR("error 7 the connection to the server srv was closed\n")));
	CHECK(str_has(buf_str(&s.ends), STR("error 7 the request to the server srv was cancelled\n")));
	CHECK_INT(s.peer.alive, 0);
	client_stage_release(&s);
}

TEST(a_client_may_be_closed_in_every_state)
{
	struct client_stage s;

	for (unsigned ms = 0; ms < 4000; ms += 250) {
		client_stage_init(&s);
		s.peer.server->kind = MCP_HTTP;
		s.peer.refuse_starts = 2;
		s.peer.fail_lists = 1;
		s.client = mcp_client_new(
			&(struct mcp_client_options){ .env = &s.peer.env,
						      .server = s.peer.server,
						      .host = { .make_transport = peer_transport, .data = &s.peer } });
		mcp_client_start(s.client);
		client_ask(&s, "{}", 0);
		peer_run_for(&s.peer, ms);
		mcp_client_close(TAKE(s.client), client_on_closed, &s);
		loop_run(s.peer.loop);
		CHECK_INT(s.closed, 1);
		CHECK(s.ends.n && strchr(s.ends.p, '\n') == s.ends.p + s.ends.n - 1); /* the request ended once */
		client_stage_release(&s);
	}
}

int test_client(void)
{
	return RUN_TESTS(
		T(an_answer_that_crosses_a_cancel_is_ignored), T(a_client_says_hello_and_learns_what_the_server_offers),
		T(hello_names_the_version_and_what_we_can_do), T(older_versions_are_taken_and_unknown_ones_are_named),
		T(a_call_carries_its_meta_and_gets_its_result), T(an_error_of_the_server_is_told_with_its_code),
		T(a_call_that_takes_too_long_is_withdrawn_and_its_late_answer_ignored),
		T(the_timeout_of_a_server_or_of_the_environment_is_that_of_its_calls),
		T(a_time_limit_beyond_time_is_none), T(a_call_without_a_sign_of_life_ends_and_progress_is_one),
		T(a_cancelled_call_is_cancelled_at_the_server_and_told_once_from_the_loop),
		T(a_message_that_is_lost_ends_its_call), T(closing_ends_open_calls_and_says_so_once),
		T(a_client_may_be_closed_in_every_state));
}
