/* SPDX-License-Identifier: MIT
 * test_wire.c - what a client sends, and the types of the lines that it gets for it. The model is a script in this process;
 * nothing is kept on disk. */
#include <cadre.h>
#include <stdlib.h>
#include "lib/io/file.h"
#include "lib/json/json.h"
#include "unit.h"

struct stage {
	char dir[FOLDER_MAX], scenario[96];
	struct cadre *c;
	struct cadre_wire *w;
	struct buf out; /* a word or two for each line, with blanks between */
};

/* "type", or "type.subtype"; of an answer whether it is one or an error. */
static void on_lines(void *data, const char *lines, size_t n)
{
	struct stage *s = data;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	CHECK_INT(json_parse(&reader, lines, n - 1, &root, NULL), 0);
	const struct json *response = json_get(root, "response");
	const struct json *request = json_get(root, "request");
	const struct json *subtype = json_get(response ? response : request ? request : root, "subtype");
	buf_addf(&s->out, "%s" STR_FMT "%s" STR_FMT, s->out.n ? " " : "", STR_ARG(json_str(json_get(root, "type"), &a)),
		 subtype ? "." : "", STR_ARG(json_str(subtype, &a)));
}

static void open_stage(struct stage *s)
{
	const char *const options[][2] = {
		{ "provider", "scripted" },
		{ "scenario", s->scenario },
		{ "no-session-persistence", "" },
		{ "config-dir", s->dir },
		{ "cwd", s->dir },
		{ "setting-sources", "" },
		{ "permission-prompt-tool", "stdio" },
	};

	folder_make(s->dir);
	snprintf(s->scenario, sizeof s->scenario, "%s/scenario.txt", s->dir);
	file_put(s->scenario,
		 STR("rule\n  prompt contains \"touch\"\n  turn 1\n  call Bash {\"command\": \"touch x\"}\n"
		     "rule\n  text ok\n"));
	s->c = cadre_new(NULL, 0);
	for (size_t i = 0; i < COUNT_OF(options); i++)
		CHECK_INT(cadre_set(s->c, options[i][0], options[i][1], NULL, 0), 0);
	s->w = cadre_wire_new(s->c, on_lines, s);
}

static void close_stage(struct stage *s)
{
	cadre_wire_free(s->w);
	cadre_free(s->c);
	folder_remove(s->dir);
	buf_release(&s->out);
}

#define USER(text)    "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
#define ASK(id, body) "{\"type\":\"control_request\",\"request_id\":\"" id "\",\"request\":{" body "}}\n"
#define TURN          "system.init assistant result.success"

static const struct {
	const char *what, *input, *expected;
} rows[] = {
	{ "nothing", "", "" },
	{ "empty lines", "\n \n\r\n", "" },
	{ "a message", USER("hi"), TURN },
	{ "a message without its line end", "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}", TURN },
	{ "two messages, two turns", USER("a") USER("b"), TURN " " TURN },
	{ "a message without content", "{\"type\":\"user\",\"message\":{\"content\":[]}}\n", "result.success" },
	{ "a message that is none", "{\"type\":\"user\",\"message\":{}}\n", "system.informational" },
	{ "what is no JSON, then a message", "{\n" USER("hi"),
	  "system.init system.informational assistant result.success" },
	{ "unknown types", "{\"type\":\"x\"}\n{\"type\":5}\n{}\n", "" },
	{ "initialize, then again", ASK("1", "\"subtype\":\"initialize\"") ASK("2", "\"subtype\":\"initialize\""),
	  "control_response.success control_response.success" },
	{ "initialize with agents that cannot be read", ASK("1", "\"subtype\":\"initialize\",\"agents\":{\"a\":5}"),
	  "result.error_during_execution" },
	{ "an unknown subtype", ASK("1", "\"subtype\":\"x\""), "control_response.error" },
	{ "a request that is no object", "{\"type\":\"control_request\",\"request_id\":\"1\",\"request\":7}\n",
	  "control_response.error" },
	{ "an answer that nobody waits for",
	  "{\"type\":\"control_response\",\"response\":{\"request_id\":\"cadre-9\",\"subtype\":\"success\"}}\n", "" },
	{ "a bad mode", ASK("1", "\"subtype\":\"set_permission_mode\",\"mode\":\"x\""), "control_response.error" },
	{ "a mode", ASK("1", "\"subtype\":\"set_permission_mode\",\"mode\":\"plan\""),
	  "control_response.success system.status" },
	{ "settings that are no object", ASK("1", "\"subtype\":\"apply_flag_settings\",\"settings\":1"),
	  "control_response.error" },
	{ "a server that is not there", ASK("1", "\"subtype\":\"mcp_reconnect\",\"serverName\":\"x\""),
	  "control_response.error" },
	{ "a title of a session that is not kept", ASK("1", "\"subtype\":\"rename_session\",\"title\":\"x\""),
	  "control_response.error" },
	{ "a question that the end of the input leaves open", USER("touch"),
	  "system.init assistant control_request.can_use_tool system.permission_denied user assistant result.success" },
};

TEST(each_input_gets_the_lines_that_it_should)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s = { 0 };
		open_stage(&s);
		cadre_wire_feed(s.w, rows[i].input, strlen(rows[i].input));
		cadre_wire_end_input(s.w);
		cadre_run(s.c);
		if (strcmp(s.out.n ? s.out.p : "", rows[i].expected) != 0)
			print_error("%s\n", rows[i].what);
		CHECK_CSTR(s.out.n ? s.out.p : "", rows[i].expected);
		close_stage(&s);
	}
}

TEST(bytes_may_come_one_by_one)
{
	struct stage s = { 0 };
	static const char input[] = USER("hi");

	open_stage(&s);
	for (size_t i = 0; i < sizeof input - 1; i++)
		cadre_wire_feed(s.w, input + i, 1);
	cadre_wire_end_input(s.w);
	cadre_run(s.c);
	CHECK_CSTR(s.out.p, TURN);
	close_stage(&s);
}

TEST(a_wire_may_be_freed_in_the_middle_of_a_turn)
{
	struct stage s = { 0 };
	static const char input[] = USER("hi") USER("there");

	open_stage(&s);
	cadre_wire_feed(s.w, input, sizeof input - 1);
	CHECK(!str_has(buf_str(&s.out), STR("result")));
	size_t said = s.out.n;
	cadre_wire_free(TAKE(s.w));
	cadre_run(s.c);
	CHECK_INT(s.out.n, said); /* nothing is said after its end */
	close_stage(&s);
}

int main(void)
{
	RUN_TESTS(T(each_input_gets_the_lines_that_it_should), T(bytes_may_come_one_by_one),
		  T(a_wire_may_be_freed_in_the_middle_of_a_turn));
	return tests_run();
}
