/* SPDX-License-Identifier: MIT
 * test_client_ask.c - what a server says by itself: requests, notices, elicitation, nonsense, floods. */
#include "client_stage.h"
#include "tests.h"

TEST(requests_of_the_server_are_answered)
{
	static const struct {
		const char *message, *answer;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"ping\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{}}\n" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"roots\":[{\"uri\":\"file:///w/a\",\"name\":\"a\"}]}}\n" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32601," },
		{ "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\"}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":6,\"error\":{\"code\":-32602," },
	};
	struct client_stage s;

	client_stage_init(&s);
	s.peer.env.roots = (const char *const[]){ "file:///w/a", NULL };
	client_stage_connect(&s);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		buf_clear(&s.peer.sent);
		peer_say(&s.peer, "%s", cases[i].message);
		loop_run(s.peer.loop);
		CHECK(str_starts(buf_str(&s.peer.sent), str_from(cases[i].answer)));
	}
	client_stage_release(&s);
}

TEST(broken_messages_are_a_line_in_the_log_and_disturb_nothing)
{
	static const char *const broken[] = {
		"nothing",
		"[]",
		"12",
		"{}",
		"{\"id\":null,\"error\":{\"code\":1,\"message\":\"parse\"}}",
		"{\"method\":5}",
		"{\"id\":{},\"method\":\"ping\"}",
		"{\"id\":999,\"result\":{}}",
		"{\"id\":-1,\"result\":{}}",
		"{\"id\":9223372036854775807,\"result\":{}}",
		"{\"method\":\"notifications/progress\"}",
		"{\"method\":\"notifications/cancelled\",\"params\":{}}",
	};
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{}", 0);
	long long id = peer_last_id(&s.peer);
	for (size_t i = 0; i < COUNT_OF(broken); i++)
		peer_say(&s.peer, "%s", broken[i]);
	peer_say(&s.peer, "{\"id\":%lld}", id);
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.ends), "error 9 the server srv gave an answer without a result\n");
	CHECK(str_has(buf_str(&s.log), STR("warning it sent a message that is not JSON")));
	CHECK(str_has(buf_str(&s.log), STR("sent a message that is not an object")));
	CHECK(str_has(buf_str(&s.log), STR("error 1: parse")));
	CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	client_stage_release(&s);
}

TEST(a_flood_of_messages_is_dropped_above_a_thousand_a_second_and_answers_still_arrive)
{
	struct client_stage s;
	unsigned lines = 0;

	client_stage_init(&s);
	client_stage_connect(&s);
	client_ask(&s, "{}", 0);
	for (unsigned i = 0; i < 3000; i++)
		peer_say(&s.peer,
			 "{\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":\"x\"}}");
	peer_say(&s.peer, "{\"id\":%lld,\"result\":1}", (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);

	for (size_t i = 0; i < s.log.n; i++)
		lines += s.log.p[i] == '\n';
	CHECK_INT(lines, 1001);
	CHECK_STR(buf_str(&s.ends), "result 1\n");
	client_stage_release(&s);
}

TEST(a_log_message_of_the_server_reaches_the_log_with_its_level)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	peer_say(&s.peer, "{\"method\":\"notifications/message\",\"params\":{\"level\":\"debug\",\"data\":{\"a\":1}}}");
	peer_say(&s.peer, "{\"method\":\"notifications/message\",\"params\":{\"level\":\"odd\",\"data\":\"words\"}}");
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&s.log), "debug {\"a\":1}\ninfo words\n");
	client_stage_release(&s);
}

#define FORM                                                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":\"e1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"who?\","      \
	"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"Jo\"}," \
	"\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\",\"default\":9.5},"              \
	"\"kind\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"default\":\"b\"},"                                    \
	"\"sure\":{\"type\":\"boolean\",\"default\":true},\"free\":{\"type\":\"string\"}}}}}"

TEST(defaults_of_the_form_fill_what_an_answer_leaves_out)
{
	struct client_stage s;

	client_stage_init(&s);
	s.answer_at_once = true;
	client_stage_connect(&s);
	peer_say(&s.peer, "%s", FORM);
	loop_run(s.peer.loop);
	CHECK(peer_was_sent(&s.peer,
			    "\"id\":\"e1\",\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Jo\",\"age\":30,"
			    "\"score\":9.5,\"kind\":\"b\",\"sure\":true}}}"));

	s.answer_at_once = false;
	peer_say(&s.peer, "%s", FORM);
	loop_run(s.peer.loop);
	CHECK_STR(s.asked->message, "who?");
	CHECK_CSTR(s.asked->mode, "form");
	mcp_elicitation_answer(s.asked, "accept", STR("{\"age\":5,\"sure\":false,\"na\\u006de\":\"\"}"));
	CHECK(peer_was_sent(&s.peer,
			    "\"content\":{\"age\":5,\"sure\":false,\"name\":\"\",\"score\":9.5,\"kind\":\"b\"}"));
	client_stage_release(&s);
}

TEST(a_declined_form_has_no_content)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	peer_say(&s.peer, "%s", FORM);
	loop_run(s.peer.loop);
	mcp_elicitation_answer(s.asked, "decline", STR(""));

	CHECK(peer_was_sent(&s.peer, "\"id\":\"e1\",\"result\":{\"action\":\"decline\"}}"));
	client_stage_release(&s);
}

TEST(an_elicitation_is_gone_when_the_server_withdraws_it_or_dies)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	peer_say(&s.peer, "%s", FORM);
	peer_say(&s.peer, "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"other\"}}");
	loop_run(s.peer.loop);
	CHECK_INT(s.gone, 0);
	peer_say(&s.peer, "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"e1\"}}");
	loop_run(s.peer.loop);
	CHECK_INT(s.gone, 1);
	peer_say(&s.peer, "%s", FORM);
	peer_die(&s.peer, "gone", false, false);
	loop_run(s.peer.loop);
	CHECK_INT(s.gone, 2);
	peer_say(&s.peer, "%s", FORM);
	loop_run(s.peer.loop);
	client_stage_release(&s); /* and closing is the third way, with one open */
}

TEST(a_change_of_the_roots_is_told_to_a_server_that_is_connected)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	mcp_client_roots_changed(s.client);

	CHECK(peer_was_sent(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}\n"));
	client_stage_release(&s);
}

int test_client_ask(void)
{
	return RUN_TESTS(T(requests_of_the_server_are_answered),
			 T(broken_messages_are_a_line_in_the_log_and_disturb_nothing),
			 T(a_flood_of_messages_is_dropped_above_a_thousand_a_second_and_answers_still_arrive),
			 T(a_log_message_of_the_server_reaches_the_log_with_its_level),
			 T(defaults_of_the_form_fill_what_an_answer_leaves_out), T(a_declined_form_has_no_content),
			 T(an_elicitation_is_gone_when_the_server_withdraws_it_or_dies),
			 T(a_change_of_the_roots_is_told_to_a_server_that_is_connected));
}
