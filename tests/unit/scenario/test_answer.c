/* SPDX-License-Identifier: MIT
 * test_answer.c - which rule answers, and what the answer is. */
#include "stage.h"

static void check_answers(struct stage *s, const char *expected)
{
	AUTO_BUF struct buf out = { 0 };

	stage_read(s, &out);
	CHECK_STR(buf_str(&out), expected);
}

TEST(an_answer_is_the_events_of_the_api_in_their_order)
{
	struct stage s;
	stage_open(&s, "cache off\nrule\ntext Hi\n");

	stage_prompt(&s, "go");
	stage_play(&s);

	AUTO_BUF struct buf names = { 0 };
	for (struct str rest = buf_str(&s.bytes); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (str_starts(line, STR("event: ")))
			buf_addf(&names, STR_FMT " ", (int)line.n - 7, line.p + 7);
	}
	CHECK_STR(buf_str(&names),
		  "message_start content_block_start content_block_delta content_block_stop message_delta "
		  "message_stop ");
	CHECK_CSTR(s.trail.p, "BYTES END ");
	CHECK_STR(reply_head(s.reply)->content_type, "text/event-stream; charset=utf-8");
	CHECK(str_starts(str_from(reply_head(s.reply)->headers[0]), STR("request-id: req_")));
	stage_close(&s);
}

TEST(rules_are_tried_in_order_by_agent_model_turn_and_text)
{
	struct stage s;
	stage_open(&s, "rule\nagent Explore\ntext for Explore\n"
		       "rule\nmodel other\ntext for other\n"
		       "rule\nprompt contains \"say \\\"a\\\"\"\nprompt lacks \"not\"\ntext a\n"
		       "rule\nsystem contains \"rules\"\ntext system\n"
		       "rule\nturn 1\ncall Read {}\n"
		       "rule\nturn 2+\nlast contains \"treasure\"\ntext found\n"
		       "rule\ntext none\n");

	stage_ask_as(&s, "Explore", "/v1/messages",
		     str_from(request_with("{\"role\":\"user\",\"content\":\"x\"}", "")));
	check_answers(&s, "text(for Explore) end_turn");
	stage_ask(&s, request_with("{\"role\":\"user\",\"content\":\"x\"}", ",\"model\":\"other\""));
	check_answers(&s, "text(for other) end_turn");
	stage_prompt(&s, "please say \"a\"");
	check_answers(&s, "text(a) end_turn");
	stage_prompt(&s, "please do not say \"a\"");
	check_answers(&s, "tool_use(Read {}) tool_use");
	stage_ask(&s, request_with("{\"role\":\"user\",\"content\":\"x\"}", ",\"system\":\"the rules\""));
	check_answers(&s, "text(system) end_turn");
	stage_prompt(&s, "x");
	stage_go_on(&s, "a treasure chest");
	check_answers(&s, "text(found) end_turn");
	stage_prompt(&s, "x");
	stage_go_on(&s, "dust");
	check_answers(&s, "text(none) end_turn");
	stage_close(&s);
}

TEST(nth_and_every_count_the_requests_that_fit_the_rule)
{
	struct stage s;
	stage_open(&s, "rule\nprompt contains \"b\"\nnth 2-3\ntext b{{n}}\nrule\nevery 2\ntext even\nrule\ntext odd\n");

	static const char *const prompts[] = { "b", "a", "b", "a", "b", "b" };
	static const char *const answers[] = { "odd", "even", "b2", "odd", "b3", "even" };
	for (size_t i = 0; i < COUNT_OF(prompts); i++) {
		char expected[40];
		snprintf(expected, sizeof expected, "text(%s) end_turn", answers[i]);
		stage_prompt(&s, prompts[i]);
		check_answers(&s, expected);
	}
	stage_close(&s);
}

TEST(chance_follows_the_seed)
{
	int hits[2] = { 0 };

	for (int run = 0; run < 2; run++) {
		struct stage s;
		stage_open(&s, "seed 5\nrule\nchance 0.25\nstatus 500\nrule\ntext a\n");
		for (int i = 0; i < 1000; i++) {
			stage_prompt(&s, "x");
			hits[run] += stage_status(&s) == 500;
		}
		stage_close(&s);
	}

	CHECK(hits[0] > 200 && hits[0] < 300);
	CHECK_INT(hits[0], hits[1]);
}

TEST(names_in_a_text_are_filled_in)
{
	struct stage s;
	stage_open(&s,
		   "rule\nturn 1\ncapture file prompt \"file:\" word\ncapture rest prompt \"then \" until \" please\"\n"
		   "text {{file}},{{rest}},{{turn}},{{request}},{{n}},{{agent}},{{model}},{{open}}x}}\n"
		   "call Read {\"file_path\": \"{{file}}\", \"limit\": {{turn}}, \"deep\": {\"a\": {\"b\": {{n}}}}}\n"
		   "rule\ntext {{lines:last_result}} lines: {{last_result|5}} of {{prompt}}\n");

	stage_prompt(&s, "read file: a\"b.txt then stop now please");
	check_answers(
		&s,
		"text(a\"b.txt,stop now,1,1,1,main,m,{{x}}) "
		"tool_use(Read {\"file_path\": \"a\\\"b.txt\", \"limit\": 1, \"deep\": {\"a\": {\"b\": 1}}}) tool_use");
	stage_go_on(&s, "one\ntwo\nthree\n");
	check_answers(&s, "text(3 lines: one\nt of read file: a\"b.txt then stop now please) end_turn");
	stage_close(&s);
}

TEST(a_result_is_escaped_inside_json_and_results_are_counted_since_the_prompt)
{
	struct stage s;
	stage_open(&s, "rule\nturn 1\nrepeat 2 call Read {\"i\": {{i}}}\n"
		       "rule\nturn 2\ncall Write {\"content\": \"{{last_result}}\"}\n"
		       "rule\ntext {{result:1}}|{{result:3}}|{{result:4}}|\n");

	stage_prompt(&s, "x");
	check_answers(&s, "tool_use(Read {\"i\": 1}) tool_use(Read {\"i\": 2}) tool_use");
	stage_go_on(&s, "tab\t \"quote\" \\ ü");
	check_answers(&s, "tool_use(Write {\"content\": \"tab\\t \\\"quote\\\" \\\\ ü\"}) tool_use");
	stage_go_on(&s, "written");
	check_answers(&s, "text(tab\t \"quote\" \\ ü|written||) end_turn");
	stage_close(&s);
}

TEST(a_capture_that_finds_nothing_means_the_rule_does_not_fit)
{
	struct stage s;
	stage_open(&s, "rule\ncapture x prompt \"file:\" word\ntext {{x}}\nrule\ntext no file\n");

	stage_prompt(&s, "nothing");

	check_answers(&s, "text(no file) end_turn");
	stage_close(&s);
}

TEST(thinking_and_stop_reasons_are_sent)
{
	struct stage s;
	stage_open(&s, "rule\nnth 1\nthinking hm\ntext a\nstop max_tokens\n"
		       "rule\nnth 1\ntext b\nstop refusal cyber \"no\"\n"
		       "rule\nnth 1\ntext c\nstop stop_sequence \"END\"\n"
		       "rule\nempty\n");

	stage_prompt(&s, "x");
	check_answers(&s, "thinking(hm) text(a) max_tokens");
	stage_prompt(&s, "x");
	check_answers(&s, "text(b) refusal");
	CHECK(strstr(s.bytes.p,
		     "\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":\"no\"}"));
	stage_prompt(&s, "x");
	check_answers(&s, "text(c) stop_sequence");
	CHECK(strstr(s.bytes.p, "\"stop_sequence\":\"END\""));
	stage_prompt(&s, "x");
	check_answers(&s, "end_turn");
	stage_close(&s);
}

TEST(chunks_never_split_a_character)
{
	struct stage s;
	stage_open(&s, "chunk 2\nrule\ntext aüöß€x\ncall Read {\"a\":\"ü\"}\n");

	stage_prompt(&s, "x");

	check_answers(&s, "text(aüöß€x) tool_use(Read {\"a\":\"ü\"}) tool_use");
	CHECK(strstr(s.bytes.p, "\"text\":\"aü\""));
	stage_close(&s);
}

TEST(a_block_comes_in_as_many_pieces_as_asked)
{
	struct stage s;
	int deltas = 0;
	stage_open(&s, "rule\nchunk 4 pieces\ntext 0123456789\n");

	stage_prompt(&s, "x");
	check_answers(&s, "text(0123456789) end_turn");

	for (const char *p = s.bytes.p; (p = strstr(p, "\"text_delta\"")); p++)
		deltas++;
	CHECK_INT(deltas, 4);
	stage_close(&s);
}

TEST(latency_and_delays_stand_before_the_steps)
{
	struct stage s;
	stage_open(&s, "latency 1s\nrule\nnth 1\ndelay 7\ntext a\nrule\ntext b\n");

	stage_prompt(&s, "x");
	stage_play(&s);
	CHECK_CSTR(s.trail.p, "(1000) BYTES (7) BYTES (7) BYTES (7) BYTES (7) BYTES (7) BYTES END ");
	stage_prompt(&s, "x");
	stage_play(&s);
	CHECK_CSTR(s.trail.p, "(1000) BYTES END ");
	stage_close(&s);
}

TEST(without_stream_the_answer_is_one_message)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct err err = { 0 };
	struct stage s;
	stage_open(&s, "cache off\nrule\nusage input=11 output=22 cache_read=33 cache_write=44\ntext a\ncall Read "
		       "{\"x\":1}\n");

	stage_ask(&s, request_with("{\"role\":\"user\",\"content\":\"x\"}", ",\"stream\":false"));
	stage_play(&s);

	CHECK_INT(json_parse(&reader, s.bytes.p, s.bytes.n, &root, &err), 0);
	CHECK_STR(reply_head(s.reply)->content_type, "application/json");
	CHECK(!reply_head(s.reply)->stream);
	CHECK(json_str_is(json_get(root, "stop_reason"), "tool_use"));
	CHECK_INT(json_get(root, "content")->count, 2);
	CHECK_STR(json_raw(json_get(json_next(json_get(root, "content"), json_first(json_get(root, "content"))),
				    "input")),
		  "{\"x\":1}");
	CHECK_STR(json_raw(json_get(root, "usage")),
		  "{\"input_tokens\":11,\"cache_creation_input_tokens\":44,\"cache_read_input_tokens\":33,"
		  "\"cache_creation\":{\"ephemeral_5m_input_tokens\":44,\"ephemeral_1h_input_tokens\":0},"
		  "\"output_tokens\":22,\"service_tier\":\"standard\"}");
	stage_close(&s);
}

static void copy_id(const struct stage *s, const char *prefix, char out[64])
{
	const char *at = strstr(s->bytes.p, prefix);

	CHECK(at);
	snprintf(out, 64, "%.*s", (int)strcspn(at, "\""), at);
}

TEST(ids_are_the_same_in_every_run_and_never_the_same_in_one)
{
	char first[64], second[64], again[64], other[64];
	struct stage s, t;
	const char *text = "seed 3\nrule\ncall Read {}\n";
	stage_open(&s, text);
	stage_open(&t, text);

	stage_prompt(&s, "x");
	stage_play(&s);
	copy_id(&s, "toolu_", first);
	stage_prompt(&s, "x");
	stage_play(&s);
	copy_id(&s, "toolu_", second);
	stage_prompt(&t, "x");
	stage_play(&t);
	copy_id(&t, "toolu_", again);
	engine_reset(t.engine);
	stage_prompt(&t, "x");
	stage_play(&t);
	copy_id(&t, "toolu_", other);

	CHECK(strcmp(first, second) != 0);
	CHECK_CSTR(first, again);
	CHECK_CSTR(second, other);
	stage_close(&s);
	stage_close(&t);
}

TEST(a_session_can_go_on_with_a_new_engine)
{
	struct stage s;
	struct buf body = { 0 };
	const char *text = "rule\nturn 1-2\ncall Read {}\nrule\ntext done\n";
	stage_open(&s, text);
	stage_prompt(&s, "x");
	stage_go_on(&s, "r");
	buf_add(&body, s.last.p, s.last.n);
	stage_close(&s);

	stage_open(&s, text);
	stage_ask(&s, body.p);
	stage_go_on(&s, "r");

	check_answers(&s, "text(done) end_turn");
	buf_release(&body);
	stage_close(&s);
}

TEST(other_pages_are_there)
{
	static const struct {
		const char *path;
		int status;
		const char *has;
	} cases[] = {
		{ "/v1/messages/count_tokens?beta=true", 200, "{\"input_tokens\":" },
		{ "/v1/models", 200, "\"id\":\"claude-sonnet-5-5\"" },
		{ "/v1/models/claude-haiku-5-5", 200, "\"id\":\"claude-haiku-5-5\"" },
		{ "/v1/models/none", 404, "not_found_error" },
		{ "/v2", 404, "not_found_error" },
	};
	struct stage s;
	stage_open(&s, "rule\ntext a\n");

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		stage_ask_as(&s, "", cases[i].path,
			     STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"));
		stage_play(&s);
		CHECK_INT(stage_status(&s), cases[i].status);
		CHECK(strstr(s.bytes.p, cases[i].has));
	}
	stage_close(&s);
}

TEST(a_request_that_no_rule_wants_is_refused_clearly)
{
	struct stage s;
	stage_open(&s, "rule\nturn 2\ntext a\n");

	stage_prompt(&s, "x");
	stage_play(&s);

	CHECK_INT(stage_status(&s), 400);
	CHECK(strstr(s.bytes.p, "no rule of the scenario wants this request: agent main, turn 1"));
	CHECK_INT(stage_stat(&s, "unmatched"), 1);
	stage_close(&s);
}

int answer_tests(void)
{
	return RUN_TESTS(
		T(an_answer_is_the_events_of_the_api_in_their_order),
		T(rules_are_tried_in_order_by_agent_model_turn_and_text),
		T(nth_and_every_count_the_requests_that_fit_the_rule), T(chance_follows_the_seed),
		T(names_in_a_text_are_filled_in),
		T(a_result_is_escaped_inside_json_and_results_are_counted_since_the_prompt),
		T(a_capture_that_finds_nothing_means_the_rule_does_not_fit), T(thinking_and_stop_reasons_are_sent),
		T(chunks_never_split_a_character), T(a_block_comes_in_as_many_pieces_as_asked),
		T(latency_and_delays_stand_before_the_steps), T(without_stream_the_answer_is_one_message),
		T(ids_are_the_same_in_every_run_and_never_the_same_in_one), T(a_session_can_go_on_with_a_new_engine),
		T(other_pages_are_there), T(a_request_that_no_rule_wants_is_refused_clearly));
}
