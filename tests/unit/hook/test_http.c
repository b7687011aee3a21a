/* SPDX-License-Identifier: MIT
 * test_http.c - hooks over HTTP, against a server on loopback. */
#include "unit.h"
#include "../io/http_server.h"
#include "stage.h"
#include "tests.h"

/* What the server answers, and what it was asked */
struct desk {
	const char *answer; /* the whole of it; NULL: never */
	struct buf head, body;
};

static void serve(struct peer *p)
{
	struct desk *desk = p->data;

	if (!peer_request(p))
		return;
	buf_add(&desk->head, p->head.p, p->head.n);
	buf_add(&desk->body, p->body.p, p->body.n);
	if (desk->answer)
		peer_send(p, desk->answer);
	else
		peer_wait_gone(p);
}

/* %s: the server's URL */
static void run(struct stage *st, struct desk *desk, enum hook_event event, const char *more)
{
	struct server *server = server_start(serve, desk, NULL);
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "{\"type\":\"http\",\"url\":\"%s\"%s}", server_url(server), more);
	stage_handler(st, event, json.p);
	stage_run(st, event, "Bash");
	http_free(st->http);
	st->http = NULL;
	server_stop(server);
}

static void release(struct stage *st, struct desk *desk)
{
	stage_release(st);
	buf_release(&desk->head);
	buf_release(&desk->body);
}

static void check_answer(const char *answer, const char *want)
{
	struct stage st;
	struct desk desk = { .answer = answer };
	stage_init(&st, 0);

	run(&st, &desk, HOOK_PRE_TOOL_USE, "");

	struct str said = str_from(st.said.p);
	if (!str_ends(said, str_from(want)))
		fail_msg("%s\n  is   %s\n  want ...%s", answer, st.said.p, want);
	release(&st, &desk);
}

TEST(an_answer_is_a_decision_nothing_or_a_note)
{
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{\"decision\":\"block\",\"reason\":\"no\"}",
		     "ran 1; deny: no; blocked: no");
	check_answer("HTTP/1.1 204 No Content\r\n\r\n", "ran 1");
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "ran 1");
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "the answer is not a JSON object: ok");
	check_answer("HTTP/1.1 500 Oh\r\nContent-Length: 34\r\n\r\n{\"decision\":\"block\",\"reason\":\"no\"}",
		     "the answer has status 500");
	check_answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		     "the answer has status 302");
}

TEST(the_request_is_the_events_json_with_the_headers_that_are_allowed)
{
	static const char *const envp[] = { "TOKEN=t0", "SECRET=s", NULL };
	struct stage st;
	struct desk desk = { .answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" };
	stage_init(&st, 0);
	st.context.envp = envp;

	run(&st, &desk, HOOK_PRE_TOOL_USE,
	    ",\"headers\":{\"Authorization\":\"Bearer $TOKEN\",\"X-Other\":\"<${SECRET}>\"},\"allowedEnvVars\":[\"TOKEN\"]");

	CHECK(str_starts(buf_str(&desk.head), STR("POST / HTTP/1.1\r\n")));
	CHECK(strstr(desk.head.p, "Authorization: Bearer t0\r\n"));
	CHECK(strstr(desk.head.p, "X-Other: <>\r\n"));
	CHECK(strstr(desk.head.p, "Content-Type: application/json\r\n"));
	CHECK_STR(buf_str(&desk.body), "{\"session_id\":\"s1\",\"transcript_path\":\"/t.jsonl\",\"cwd\":\"/tmp\","
				       "\"hook_event_name\":\"PreToolUse\"}\n");
	release(&st, &desk);
}

TEST(a_server_that_never_answers_ends_at_the_time_limit)
{
	struct stage st;
	struct desk desk = { 0 };
	stage_init(&st, 0);

	run(&st, &desk, HOOK_STOP, ",\"timeout\":0.1");

	CHECK(str_ends(buf_str(&st.said), STR("): no end within 0.1 s")));
	release(&st, &desk);
}

TEST(a_server_that_is_not_there_is_a_note)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_STOP, "{\"type\":\"http\",\"url\":\"http://127.0.0.1:1/\"}");

	CHECK(strstr(stage_run(&st, HOOK_STOP, ""), "ran 1; note: Stop hook (http://127.0.0.1:1/): no answer: "));
	stage_release(&st);
}

TEST(an_answer_above_the_limit_is_a_note)
{
	AUTO_BUF struct buf answer = { 0 };

	buf_addf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n{", HOOK_OUT_LIMIT + 1);
	for (int i = 0; i < HOOK_OUT_LIMIT; i++)
		buf_addch(&answer, ' ');
	struct stage st;
	struct desk desk = { .answer = answer.p };
	stage_init(&st, 0);

	run(&st, &desk, HOOK_STOP, "");

	CHECK(strstr(st.said.p, "): no answer: "));
	release(&st, &desk);
}

int test_http(void)
{
	return RUN_TESTS(T(an_answer_is_a_decision_nothing_or_a_note),
			 T(the_request_is_the_events_json_with_the_headers_that_are_allowed),
			 T(a_server_that_never_answers_ends_at_the_time_limit), T(a_server_that_is_not_there_is_a_note),
			 T(an_answer_above_the_limit_is_a_note));
}
