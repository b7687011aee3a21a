/* SPDX-License-Identifier: MIT
 * test_chat.c - the same scenarios as chat completions: requests are checked as strictly, answers come as chunks. */
#include "stage.h"

#define USER         "{\"role\":\"user\",\"content\":\"hi\"}"
#define CALLS(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define CALL(id, in) \
	"{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"Read\",\"arguments\":\"" in "\"}}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"ok\"}"
#define ANSWER     "{\"role\":\"assistant\",\"content\":\"a\"}"

static void ask(struct stage *s, const char *messages, const char *members)
{
	AUTO_BUF struct buf body = { 0 };

	buf_addf(&body,
		 "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"Read\",\"parameters\":"
		 "{\"type\":\"object\"}}}],\"messages\":[%s]%s}",
		 messages, members);
	stage_ask_as(s, "", "/v1/chat/completions", buf_str(&body));
	stage_play(s);
}

TEST(each_broken_rule_of_chat_completions_is_said)
{
	static const struct {
		const char *messages, *members, *error;
	} cases[] = {
		{ "", "", "messages: required, a list of at least one message" },
		{ USER "," USER, "", "messages.1: role: two messages of the user in a row" },
		{ USER "," ANSWER "," ANSWER, "", "messages.2: role: two messages of the assistant in a row" },
		{ USER ",{\"role\":\"assistant\"}", "", "messages.1: an answer has content, calls or both" },
		{ "{\"role\":\"robot\",\"content\":\"a\"}", "", "messages.0: role: must be system (in front)" },
		{ USER ",{\"role\":\"system\",\"content\":\"a\"}", "", "messages.1: role: must be system (in front)" },
		{ "{\"role\":\"user\"}", "", "messages.0: content: required, a string or a list of parts" },
		{ USER "," RESULT("a"), "", "messages.1: role: a result follows the calls" },
		{ USER "," CALLS(CALL("a", "{}")) "," RESULT("b"), "", "has no tool_use b" },
		{ USER "," CALLS(CALL("a", "{}")) "," USER, "", "tool_use a of the message before has no tool_result" },
		{ USER "," CALLS(CALL("a", "oops")) "," RESULT("a"), "", "arguments must be an object of JSON" },
		{ USER "," CALLS("{\"id\":\"a\"}"), "", "a call has id, type function and a name" },
		{ USER "," CALLS(CALL("a", "{}")) ",{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":[]}", "",
		  "a result is a string" },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://x/\"}}]}",
		  "", "image_url: must be a data: address" },
		{ USER, ",\"poem\":1", "poem: unknown field" },
		{ USER, ",\"stream_options\":{}", "stream_options: only with stream" },
		{ USER, ",\"max_tokens\":1,\"max_completion_tokens\":1", "only one of them" },
		{ USER, ",\"max_tokens\":0", "max_tokens: required" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stage s;
		stage_open(&s, "rule\ntext never\n");
		ask(&s, cases[i].messages, cases[i].members);
		CHECK_INT(stage_status(&s), 400);
		if (!strstr(s.bytes.p, cases[i].error))
			fail_msg("%s: expected %s", s.bytes.p, cases[i].error);
		CHECK(str_starts(buf_str(&s.bytes), STR("{\"error\":{\"message\":")));
		stage_close(&s);
	}
}

/* The "delta", "finish_reason" and "usage" of each chunk, without what is always the same */
static void read_chunks(struct stage *s, struct buf *out)
{
	struct str rest = buf_str(&s->bytes);

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		const char *at = line.n ? memmem(line.p, line.n, "\"choices\":", 10) : NULL;
		if (at)
			buf_addf(out, "%.*s\n", (int)(line.p + line.n - at - 10), at + 10);
		else if (line.n)
			buf_addf(out, STR_FMT "\n", STR_ARG(line));
	}
}

#define CHOICE(delta, why) "[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" why "}]}\n"

TEST(an_answer_comes_as_chunks_in_the_order_of_the_protocol)
{
	AUTO_BUF struct buf seen = { 0 };
	struct stage s;
	stage_open(
		&s,
		"rule\nthinking hm\ntext Hello\ncall Read {\"a\": 1}\nchunk 4\nusage input=5 output=7 cache_read=2\n");

	ask(&s, USER, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");

	read_chunks(&s, &seen);
	const char *id = strstr(seen.p, "\"call_01");
	CHECK(id != NULL);
	char call[200];
	snprintf(
		call, sizeof call,
		CHOICE("{\"tool_calls\":[{\"index\":0,\"id\":%.*s,\"type\":\"function\",\"function\":{\"name\":\"Read\","
		       "\"arguments\":\"\"}}]}",
		       "null"),
		(int)(strchr(id + 1, '"') + 1 - id), id);
	CHECK(strstr(seen.p, call) != NULL);
	CHECK(strstr(seen.p, CHOICE("{\"role\":\"assistant\",\"content\":\"\"}", "null") CHOICE(
				     "{\"reasoning_content\":\"hm\"}", "null") CHOICE("{\"content\":\"Hell\"}", "null")
				     CHOICE("{\"content\":\"o\"}", "null")) == seen.p);
	CHECK(strstr(seen.p, CHOICE("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}}]}",
				    "null")) != NULL);
	CHECK(str_ends(buf_str(&seen),
		       STR(CHOICE("{}", "\"tool_calls\"") "[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":7,"
							  "\"total_tokens\":14,\"prompt_tokens_details\":{"
							  "\"cached_tokens\":2}}}\ndata: [DONE]\n")));
	stage_close(&s);
}

TEST(usage_comes_only_to_who_asks_for_it)
{
	struct stage s;
	stage_open(&s, "rule\ntext a\n");

	ask(&s, USER, ",\"stream\":true");

	CHECK(strstr(s.bytes.p, "usage") == NULL);
	stage_close(&s);
}

TEST(without_a_stream_the_answer_is_one_object)
{
	struct stage s;
	stage_open(&s, "rule\ntext Hello\ncall Read {}\n");

	ask(&s, USER, "");

	CHECK(strstr(s.bytes.p, "\"object\":\"chat.completion\"") != NULL);
	CHECK(strstr(s.bytes.p,
		     "\"message\":{\"role\":\"assistant\",\"content\":\"Hello\",\"tool_calls\":[{\"id\":\"call_") !=
	      NULL);
	CHECK(strstr(s.bytes.p, "\"finish_reason\":\"tool_calls\"") != NULL);
	stage_close(&s);
}

TEST(rules_see_the_conversation_as_in_the_other_dialect)
{
	struct stage s;
	stage_open(
		&s,
		"rule\nturn 2\nsystem contains \"good\"\nlast_result contains \"ok\"\ntext {{result:2}}{{prompt}}\n");

	ask(&s,
	    "{\"role\":\"system\",\"content\":\"be good\"}," USER
	    "," CALLS(CALL("a", "{}") "," CALL("b", "{}")) "," RESULT("a") "," RESULT("b"),
	    "");

	CHECK_INT(stage_status(&s), 200);
	CHECK(strstr(s.bytes.p, "\"content\":\"okhi\"") != NULL);
	stage_close(&s);
}

TEST(faults_strike_in_chunks_too)
{
	static const struct {
		const char *fault, *trail, *end;
	} faults[] = {
		{ "cut after event 2", "BYTES CUT ", "\"content\":\"a\"},\"finish_reason\":null}]}\n\n" },
		{ "cut after call 1", "BYTES CUT ", "\"arguments\":\"{}\"}}]},\"finish_reason\":null}]}\n\n" },
		{ "stall after event 1", "BYTES STALL ", "\"content\":\"\"},\"finish_reason\":null}]}\n\n" },
		{ "error server_error \"no\" after event 1", "BYTES END ",
		  "data: {\"error\":{\"message\":\"no\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n" },
	};

	for (size_t i = 0; i < COUNT_OF(faults); i++) {
		AUTO_BUF struct buf scenario = { 0 };
		struct stage s;
		buf_addf(&scenario, "rule\ntext a\ncall Read {}\n%s\n", faults[i].fault);
		stage_open(&s, scenario.p);
		ask(&s, USER, ",\"stream\":true");
		CHECK_CSTR(s.trail.p, faults[i].trail);
		CHECK(str_ends(buf_str(&s.bytes), str_from(faults[i].end)));
		stage_close(&s);
	}
}

int chat_tests(void)
{
	return RUN_TESTS(T(each_broken_rule_of_chat_completions_is_said),
			 T(an_answer_comes_as_chunks_in_the_order_of_the_protocol),
			 T(usage_comes_only_to_who_asks_for_it), T(without_a_stream_the_answer_is_one_object),
			 T(rules_see_the_conversation_as_in_the_other_dialect), T(faults_strike_in_chunks_too));
}
