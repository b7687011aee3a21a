/* SPDX-License-Identifier: MIT
 * test_request.c - the API's rules: each broken one is a 400 that says where and what. */
#include "stage.h"

#define USER              "{\"role\":\"user\",\"content\":\"hi\"}"
#define CALL(id, name)    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}"
#define RESULT(id)        "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"ok\"}"
#define TEXT(text)        "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MARKED(text)      "{\"type\":\"text\",\"text\":\"" text "\",\"cache_control\":{\"type\":\"ephemeral\"}}"
#define ASSISTANT(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define USERS(blocks)     "{\"role\":\"user\",\"content\":[" blocks "]}"

static const char *error_of(struct stage *s, struct arena *arena)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct err err;

	stage_play(s);
	if (json_parse(&reader, buf_str(&s->bytes).p, s->bytes.n, &root, &err) < 0)
		fail_msg("%s: %s", err.text, s->bytes.p);
	CHECK(json_str_is(json_get(root, "type"), "error"));
	return json_cstr(json_get(json_get(root, "error"), "message"), arena);
}

TEST(each_broken_rule_about_messages_is_said)
{
	static const struct {
		const char *messages, *members, *error;
	} cases[] = {
		{ "", "", "messages: required, a list of at least one message" },
		{ ASSISTANT(TEXT("a")), "", "messages.0: role: the first message must be the user's" },
		{ USER "," USER, "", "messages.1: role: user and assistant must alternate" },
		{ USER "," ASSISTANT(TEXT("a")) "," ASSISTANT(TEXT("b")), "",
		  "messages.2: role: user and assistant must alternate" },
		{ USER "," ASSISTANT(TEXT("a")), "", "messages.1: role: the last message must be the user's" },
		{ "{\"role\":\"robot\",\"content\":\"a\"}", "",
		  "messages.0: role: must be user or assistant, or system after a user message" },
		{ "{\"role\":\"user\"}", "", "messages.0: content: required, a string or a list of blocks" },
		{ "{\"role\":\"user\",\"content\":\"\"}", "",
		  "messages.0: content: must hold something else than white space" },
		{ "{\"role\":\"user\",\"content\":[]}", "", "messages.0: content: must not be empty" },
		{ USERS(TEXT("a") "," TEXT(" \\n")), "",
		  "messages.0.content.1: text: must hold something else than white space" },
		{ USERS("{\"type\":\"text\"}"), "", "messages.0.content.0: text: a string is required" },
		{ USERS("7"), "", "messages.0.content.0: a block must be an object" },
		{ USERS("{\"type\":\"poem\"}"), "", "messages.0.content.0: type: unknown block type 'poem'" },
		{ USERS(CALL("a", "Read")), "", "messages.0.content.0: type: a tool_use block cannot stand here" },
		{ USERS("{\"type\":\"image\"}"), "", "messages.0.content.0: source: required" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USER, "",
		  "messages.2: tool_use a of the message before has no tool_result here" },
		{ USER "," ASSISTANT(CALL("a", "Read") "," CALL("b", "Read")) "," USERS(RESULT("b")), "",
		  "messages.2: tool_use a of the message before has no tool_result here" },
		{ USER "," ASSISTANT(CALL("a", "Read")), "",
		  "messages.1: tool_use a has no tool_result in a next message" },
		{ USERS(RESULT("a")), "", "messages.0.content.0: tool_use_id: the message before has no tool_use a" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USERS(RESULT("a") "," RESULT("a")), "",
		  "messages.2.content.1: tool_use_id: a has two results" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USERS(TEXT("x") "," RESULT("a")), "",
		  "messages.2.content.1: tool_result blocks must come first in the message" },
		{ USER "," ASSISTANT(CALL("a", "Read") "," CALL("a", "Read")) "," USERS(RESULT("a")), "",
		  "messages.1.content.1: id: a was used before; tool_use ids must be unique" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USERS(RESULT("a")) "," ASSISTANT(
			  CALL("a", "Read")) "," USERS(RESULT("a")),
		  "", "messages.3.content.0: id: a was used before; tool_use ids must be unique" },
		{ USER "," ASSISTANT(CALL("a", "Fly")) "," USERS(RESULT("a")), "",
		  "messages.1.content.0: name: there is no tool Fly in tools" },
		{ USER "," ASSISTANT(CALL("a", "Re ad")) "," USERS(RESULT("a")), "",
		  "messages.1.content.0: name: must match ^[a-zA-Z0-9_-]{1,128}$" },
		{ USER "," ASSISTANT(CALL("a b", "Read")) "," USERS(RESULT("a b")), "",
		  "messages.1.content.0: id: must match ^[a-zA-Z0-9_-]{1,128}$" },
		{ USER "," ASSISTANT("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"Read\",\"input\":[]}"), "",
		  "messages.1.content.0: input: must be an object" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USERS(
			  "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"is_error\":true}"),
		  "", "messages.2.content.0: content: must not be empty when is_error is true" },
		{ USER "," ASSISTANT(CALL("a", "Read")) "," USERS(
			  "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[" TEXT("") "]}"),
		  "", "messages.2.content.0: text: must hold something else than white space" },
		{ USER "," ASSISTANT("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig_x\"}"), "",
		  "messages.1.content.0: the signature does not fit: a thinking block must come back unchanged" },
		{ USER "," ASSISTANT("{\"type\":\"redacted_thinking\",\"data\":\"redacted_x_y\"}"), "",
		  "messages.1.content.0: data: a redacted_thinking block must come back unchanged" },
		{ USER "," ASSISTANT(CALL("toolu_0T4d6bx", "Read")), "",
		  "messages.1.content.0: the thinking block before tool_use toolu_0T4d6bx is missing" },
		{ USER, ",\"temprature\":1", "temprature: unknown field" },
		{ USER, ",\"model\":\"\"", "model: required, a string" },
		{ USER, ",\"max_tokens\":0", "max_tokens: required, a number of at least 1" },
		{ USER, ",\"stream\":1", "stream: must be true or false" },
		{ USER, ",\"system\":\"\"", "system: must not be empty" },
		{ USER, ",\"system\":[" TEXT("") "]", "system.0: text: must hold something else than white space" },
		{ USER, ",\"tools\":[{\"name\":\"a\"}]", "tools.0: input_schema: required, of type object" },
		{ USER, ",\"tools\":[{\"name\":\"a b\",\"input_schema\":{\"type\":\"object\"}}]",
		  "tools.0: name: must match ^[a-zA-Z0-9_-]{1,128}$" },
		{ USER,
		  ",\"tools\":[{\"name\":\"a\",\"input_schema\":{\"type\":\"object\"}},"
		  "{\"name\":\"a\",\"input_schema\":{\"type\":\"object\"}}]",
		  "tools.1: name: there are two tools a" },
		{ USER, ",\"tool_choice\":{\"type\":\"tool\",\"name\":\"Fly\"}",
		  "tool_choice: name must be one of tools" },
		{ USER, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":50}",
		  "thinking: budget_tokens must be at least 1024" },
		{ USER, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}",
		  "thinking: budget_tokens must be less than max_tokens" },
		{ USERS(MARKED("a") "," MARKED("b") "," MARKED("c") "," MARKED("d") "," MARKED("e")), "",
		  "cache_control: 5 blocks are marked, at most 4 can be" },
		{ USERS(MARKED("a") "," MARKED("b") "," MARKED("c") "," MARKED("d")),
		  ",\"cache_control\":{\"type\":\"ephemeral\"}",
		  "cache_control: 5 blocks are marked, at most 4 can be" },
		{ USERS(MARKED("")), "", "messages.0.content.0: cache_control cannot be set for an empty text block" },
		{ USERS("{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"x\"}}"), "",
		  "messages.0.content.0: cache_control: type must be \"ephemeral\"" },
		{ USER "," ASSISTANT("{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"b\","
				     "\"cache_control\":{\"type\":\"ephemeral\"}}"),
		  "", "messages.1.content.0: cache_control cannot be set for a thinking block" },
	};
	AUTO_ARENA struct arena arena = { 0 };
	struct stage s;
	stage_open(&s, "rule\ntext never\n");

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		stage_ask(&s, request_with(cases[i].messages, cases[i].members));
		CHECK_CSTR(error_of(&s, &arena), cases[i].error);
		CHECK_INT(stage_status(&s), 400);
	}
	CHECK_INT(stage_stat(&s, "invalid"), COUNT_OF(cases));
	CHECK_INT(stage_stat(&s, "answered"), 0);
	stage_close(&s);
}

TEST(what_the_api_allows_is_answered)
{
	static const char *const messages[] = {
		USER,
		USER ",{\"role\":\"system\",\"content\":\"be brief\"}",
		USERS(TEXT("a") ",{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"u\"}}"),
		USER "," ASSISTANT(TEXT("x") "," CALL("a", "Read") "," CALL("b", "Write")) "," USERS(
			RESULT("b") "," RESULT("a") "," TEXT("and more")),
		USER "," ASSISTANT(CALL("a", "Read")) "," USERS("{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}"),
		USERS(MARKED("a") "," MARKED("b") "," MARKED("c") "," MARKED("d")),
	};
	struct stage s;
	stage_open(&s, "rule\ntext fine\n");

	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		stage_ask(&s, request_with(messages[i], ""));
		if (stage_status(&s) != 200) {
			stage_play(&s);
			fail_msg("%s", s.bytes.p);
		}
	}
	CHECK_INT(stage_stat(&s, "answered"), COUNT_OF(messages));
	stage_close(&s);
}

TEST(a_body_that_is_no_json_or_too_large_is_refused)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_FREE char *huge = xmalloc((32 << 20) + 1);
	struct stage s;
	stage_open(&s, "rule\ntext never\n");

	stage_ask(&s, "{\"model\":");
	CHECK(str_starts(str_from(error_of(&s, &arena)), STR("the body is not valid JSON: ")));
	CHECK_INT(stage_status(&s), 400);
	stage_ask(&s, "{\"model\":\"\xff\"}");
	CHECK_INT(stage_status(&s), 400);
	stage_ask(&s, "");
	CHECK_INT(stage_status(&s), 400);
	memset(huge, ' ', (32 << 20) + 1);
	stage_ask_as(&s, "", "/v1/messages", (struct str){ huge, (32 << 20) + 1 });
	CHECK_INT(stage_status(&s), 413);
	stage_close(&s);
}

TEST(thinking_that_comes_back_changed_or_not_at_all_is_refused)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf body = { 0 };
	struct stage s;
	stage_open(&s, "rule\nturn 1\nthinking Let me see \"it\".\nredacted_thinking\ncall Read {}\nrule\ntext done\n");

	stage_prompt(&s, "go");
	stage_go_on(&s, "file");
	CHECK_INT(stage_status(&s), 200);

	buf_add(&body, s.last.p, s.last.n);
	char *model = strstr(body.p, "\"m\"") + 1;
	model[0] = 'n';
	stage_ask(&s, body.p);
	CHECK_INT(stage_status(&s), 400); /* of another model */
	model[0] = 'm';
	char *text = strstr(body.p, "Let me");
	text[0] = 'G';
	stage_ask(&s, body.p);
	CHECK_CSTR(error_of(&s, &arena),
		   "messages.1.content.0: the signature does not fit: a thinking block must come back unchanged");
	stage_close(&s);
}

TEST(a_paused_turn_may_be_sent_back_as_the_last_message)
{
	struct stage s;
	stage_open(&s, "rule\nturn 1\ntext wait\nstop pause_turn\nrule\ntext done\n");

	stage_ask(&s, request_with(USER "," ASSISTANT(TEXT("wait")), ""));

	CHECK_INT(stage_status(&s), 200);
	stage_close(&s);
}

TEST(unknown_tools_can_be_allowed)
{
	struct stage s;
	stage_open(&s, "allow unknown-tools\nrule\ntext done\n");

	stage_ask(&s, request_with(USER "," ASSISTANT(CALL("a", "Fly")) "," USERS(RESULT("a")), ""));

	CHECK_INT(stage_status(&s), 200);
	stage_close(&s);
}

int request_tests(void)
{
	return RUN_TESTS(T(each_broken_rule_about_messages_is_said), T(what_the_api_allows_is_answered),
			 T(a_body_that_is_no_json_or_too_large_is_refused),
			 T(thinking_that_comes_back_changed_or_not_at_all_is_refused),
			 T(a_paused_turn_may_be_sent_back_as_the_last_message), T(unknown_tools_can_be_allowed));
}
