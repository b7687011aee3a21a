/* SPDX-License-Identifier: MIT
 * test_client_again.c - requests that are sent a second time, because the server has certainly not done them: its session was
 * forgotten, or the user had to visit an address first. */
#include "client_stage.h"
#include "tests.h"

static void begin(struct client_stage *s)
{
	client_stage_init(s);
	client_stage_connect(s);
	peer_run_for(&s->peer, 2000); /* a session that was over at once would be a failure */
}

static void answer(struct client_stage *s)
{
	peer_say(&s->peer, "{\"id\":%lld,\"result\":{}}", (long long)peer_last_id(&s->peer));
	peer_run_for(&s->peer, 10);
}

static void forget(struct client_stage *s)
{
	peer_return(&s->peer, peer_last_id(&s->peer));
	peer_die(&s->peer, "HTTP 404", false, true);
	peer_run_for(&s->peer, 10);
}

TEST(a_call_that_the_server_gave_back_is_sent_again_in_the_next_session)
{
	struct client_stage s;
	begin(&s);
	client_ask(&s, "{\"n\":1}", 0);
	int64_t id = peer_last_id(&s.peer);
	buf_clear(&s.peer.sent);

	peer_return(&s.peer, id);
	peer_die(&s.peer, "HTTP 404", false, true);
	peer_run_for(&s.peer, 10);

	CHECK_INT(s.peer.starts, 2);
	CHECK(peer_was_sent(&s.peer,
			    "\"params\":{\"n\":1,\"_meta\":{\"claudecode/toolUseId\":\"toolu_7\",\"progressToken\":"));
	CHECK(peer_last_id(&s.peer) != id);
	CHECK_INT(s.ends.n, 0);
	answer(&s);
	CHECK_STR(buf_str(&s.ends), "result {}\n");
	client_stage_release(&s);
}

TEST(a_call_is_sent_again_only_once)
{
	struct client_stage s;
	begin(&s);
	client_ask(&s, "{\"n\":1}", 0);
	forget(&s);
	peer_run_for(&s.peer, 2000);

	forget(&s);

	CHECK_STR(buf_str(&s.ends), "error 1 the server srv died during the call: HTTP 404\n");
	client_stage_release(&s);
}

TEST(a_call_that_was_not_given_back_ends_with_its_session)
{
	struct client_stage s;
	begin(&s);
	client_ask(&s, "{\"n\":1}", 0);
	int64_t id = peer_last_id(&s.peer);
	client_ask(&s, "{\"n\":2}", 0);

	peer_return(&s.peer, id);
	peer_die(&s.peer, "HTTP 404", false, true);
	peer_run_for(&s.peer, 10);

	CHECK_STR(buf_str(&s.ends), "error 1 the server srv died during the call: HTTP 404\n");
	answer(&s);
	CHECK(str_has(buf_str(&s.ends), STR("result {}\n")));
	client_stage_release(&s);
}

TEST(a_call_that_was_given_back_keeps_its_time_limit)
{
	struct client_stage s;
	begin(&s);
	client_ask(&s, "{\"n\":1}", 1500);
	peer_run_for(&s.peer, 1000);

	forget(&s);
	peer_run_for(&s.peer, 600);

	CHECK_STR(buf_str(&s.ends), "error 8 the server srv timed out after 1.5 s\n");
	client_stage_release(&s);
}

#define BARRED(addresses)                                                                                              \
	"{\"id\":%lld,\"error\":{\"code\":-32042,\"message\":\"sign in first\",\"data\":{\"elicitations\":[" addresses \
	"]}}}"
#define BANK "{\"mode\":\"url\",\"url\":\"https://bank.example/\",\"elicitationId\":\"e-7\",\"message\":\"Sign in\"}"
#define POST "{\"mode\":\"url\",\"url\":\"https://post.example/\",\"elicitationId\":\"e-8\",\"message\":\"Here too\"}"

static void ask_barred(struct client_stage *s, uint64_t timeout_ms, const char *message)
{
	client_ask(s, "{\"n\":1}", timeout_ms);
	AUTO_BUF struct buf text = { 0 };
	buf_addf(&text, "%s", message);
	char *at = strstr(text.p, "%lld");
	peer_say(&s->peer, "%.*s%lld%s", (int)(at - text.p), text.p, (long long)peer_last_id(&s->peer), at + 4);
	peer_run_for(&s->peer, 10);
	buf_clear(&s->peer.sent);
}

TEST(an_address_that_an_error_names_is_asked_for_and_the_call_sent_again_when_it_was_accepted)
{
	struct client_stage s;
	begin(&s);

	ask_barred(&s, 0, BARRED(BANK));
	CHECK_INT(s.ends.n, 0);
	CHECK_CSTR(s.asked->mode, "url");
	CHECK_CSTR(s.asked->url, "https://bank.example/");
	CHECK_CSTR(s.asked->id, "e-7");
	CHECK_STR(s.asked->message, "Sign in");
	mcp_elicitation_answer(s.asked, "accept", STR(""));

	CHECK(peer_was_sent(&s.peer, "\"method\":\"tools/call\",\"params\":{\"n\":1,"));
	CHECK(!peer_was_sent(&s.peer, "\"action\""));
	answer(&s);
	CHECK_STR(buf_str(&s.ends), "result {}\n");
	client_stage_release(&s);
}

TEST(all_addresses_of_an_error_must_be_accepted)
{
	struct client_stage s;
	begin(&s);

	ask_barred(&s, 0, BARRED(BANK "," POST));
	mcp_elicitation_answer(s.asked, "accept", STR(""));
	CHECK_INT(s.peer.sent.n, 0);
	mcp_elicitation_answer(s.asked_before, "accept", STR(""));
	CHECK(peer_was_sent(&s.peer, "tools/call"));
	answer(&s);

	ask_barred(&s, 0, BARRED(BANK "," POST));
	mcp_elicitation_answer(s.asked, "decline", STR(""));
	peer_run_for(&s.peer, 10);
	CHECK_INT(s.gone, 1);
	CHECK_INT(s.peer.sent.n, 0);
	CHECK_STR(buf_str(&s.ends),
		  "result {}\nerror 6 the server srv requires the user to visit a URL first, and that "
		  "was not accepted\n");
	client_stage_release(&s);
}

TEST(an_answer_at_once_sends_the_call_once)
{
	struct client_stage s;
	begin(&s);
	s.answer_at_once = true;

	client_ask(&s, "{}", 0);
	buf_clear(&s.peer.lists);
	peer_say(&s.peer, BARRED(BANK "," POST), (long long)peer_last_id(&s.peer));
	peer_run_for(&s.peer, 10);

	const char *first = strstr(s.peer.sent.p, "tools/call");
	const char *second = strstr(first + 1, "tools/call");
	CHECK(second && !strstr(second + 1, "tools/call"));
	answer(&s);
	CHECK_STR(buf_str(&s.ends), "result {}\n");
	client_stage_release(&s);
}

TEST(a_second_refusal_and_one_without_addresses_are_errors)
{
	static const char *const none[] = { BARRED(""), BARRED("{\"mode\":\"form\"}"), BARRED("{\"mode\":\"url\"}") };
	struct client_stage s;
	begin(&s);

	ask_barred(&s, 0, BARRED(BANK));
	mcp_elicitation_answer(s.asked, "accept", STR(""));
	peer_say(&s.peer, BARRED(BANK), (long long)peer_last_id(&s.peer));
	peer_run_for(&s.peer, 10);
	CHECK_STR(buf_str(&s.ends), "error 9 the server srv answered with error -32042: sign in first\n");

	for (size_t i = 0; i < COUNT_OF(none); i++) {
		buf_clear(&s.ends);
		ask_barred(&s, 0, none[i]);
		CHECK_STR(buf_str(&s.ends), "error 9 the server srv answered with error -32042: sign in first\n");
	}
	client_stage_release(&s);
}

TEST(the_time_of_a_person_is_not_the_servers)
{
	struct client_stage s;
	begin(&s);

	ask_barred(&s, 1000, BARRED(BANK));
	peer_run_for(&s.peer, 60000);
	CHECK_INT(s.ends.n, 0);
	mcp_elicitation_answer(s.asked, "accept", STR(""));
	peer_run_for(&s.peer, 900);
	CHECK_INT(s.ends.n, 0);
	peer_run_for(&s.peer, 200);
	CHECK_STR(buf_str(&s.ends), "error 8 the server srv timed out after 1 s\n");
	client_stage_release(&s);
}

TEST(a_call_that_ends_while_its_address_is_asked_for_takes_the_question_with_it)
{
	struct client_stage s;
	begin(&s);

	ask_barred(&s, 0, BARRED(BANK));
	peer_die(&s.peer, "gone", false, false);
	peer_run_for(&s.peer, 10);
	CHECK_INT(s.gone, 1);
	CHECK_STR(buf_str(&s.ends), "error 1 the server srv died during the call: gone\n");
	peer_run_for(&s.peer, 2000);

	struct mcp_request *r = client_ask(&s, "{}", 0);
	peer_say(&s.peer, BARRED(BANK), (long long)peer_last_id(&s.peer));
	peer_run_for(&s.peer, 10);
	buf_clear(&s.peer.sent);
	mcp_request_cancel(r, "enough");
	peer_run_for(&s.peer, 10);
	CHECK_INT(s.gone, 2);
	CHECK_INT(s.peer.sent.n, 0); /* the server has nothing to cancel */
	client_stage_release(&s);
}

int test_client_again(void)
{
	return RUN_TESTS(T(a_call_that_the_server_gave_back_is_sent_again_in_the_next_session),
			 T(a_call_is_sent_again_only_once), T(a_call_that_was_not_given_back_ends_with_its_session),
			 T(a_call_that_was_given_back_keeps_its_time_limit),
			 T(an_address_that_an_error_names_is_asked_for_and_the_call_sent_again_when_it_was_accepted),
			 T(all_addresses_of_an_error_must_be_accepted), T(an_answer_at_once_sends_the_call_once),
			 T(a_second_refusal_and_one_without_addresses_are_errors),
			 T(the_time_of_a_person_is_not_the_servers),
			 T(a_call_that_ends_while_its_address_is_asked_for_takes_the_question_with_it));
}
