/* SPDX-License-Identifier: MIT
 * test_retry.c - requests that fail: which are tried again, what counts of an answer that was cut, when to give up. */
#include "stage.h"
#include "test_query.h"

#define ERROR_BODY(type) "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"x\"}}"

TEST(an_overload_is_waited_out)
{
	STAGE(s, { .stream = ERROR_BODY("overloaded_error"), .status = 529 },
	      { .stream = ERROR_BODY("overloaded_error"), .status = 529 }, { .stream = SAYS("m1", "hello") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM BACKOFF GATE STREAM BACKOFF GATE STREAM FINISH IDLE ");
	CHECK_CSTR(a->events.p, "retry:overloaded:1:529 retry:overloaded:2:529 text:hello ");
	CHECK_INT(s.q->end, QUERY_DONE);
	uint64_t first = s.model.asked_ms[1] - s.model.asked_ms[0], second = s.model.asked_ms[2] - s.model.asked_ms[1];
	CHECK(first >= 500 && first <= 625);
	CHECK(second >= 1000 && second <= 1250);
	CHECK_CSTR(s.model.bodies[2], s.model.bodies[0]);
	stage_check_disk(&s);
	stage_release(&s);
}

static void start_another(struct query *q)
{
	struct agent *a = q->config.data;

	stage_prompt(stage_agent(a->stage), "hi");
}

TEST(a_retry_after_is_obeyed_by_every_agent)
{
	static const int statuses[] = { 429, 529, 503 };

	for (size_t i = 0; i < COUNT_OF(statuses); i++) {
		const struct reply replies[] = { { .stream = "", .status = statuses[i], .retry_after = "20" },
						 { .stream = SAYS("m1", "one") },
						 { .stream = SAYS("m2", "two") } };
		struct stage s;
		stage_init(&s, replies, COUNT_OF(replies));
		stage_prompt(stage_agent(&s), "hi");

		stage_after(&s, 1000, start_another);

		CHECK_INT(s.agents[0].q.end, QUERY_DONE);
		CHECK_INT(s.agents[1].q.end, QUERY_DONE);
		CHECK(s.model.asked_ms[1] >= s.model.asked_ms[0] + 20000);
		CHECK(s.model.asked_ms[2] <= s.model.asked_ms[0] + 21000);
		stage_release(&s);
	}
}

TEST(an_answer_that_is_cut_before_a_call_never_happened)
{
	STAGE(s, { .stream = START("m1") TEXT("gone") TEXT("too"), .end = FAIL_CUT },
	      { .stream = SAYS("m2", "hello") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM BACKOFF GATE STREAM FINISH IDLE ");
	CHECK_CSTR(a->events.p, "text:gone text:too retry:server_error:1:0 text:hello(supersedes 2) ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:hello");
	CHECK_STR(buf_str(&s.q->text), "hello");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(only_the_next_block_supersedes)
{
	STAGE(s, { .stream = START("m1") TEXT("gone"), .end = FAIL_STALL }, { .stream = "", .status = 500 },
	      { .stream = START("m2") TEXT("also gone"), .end = FAIL_CUT },
	      { .stream = ANSWER("m3", TEXT("a") TEXT("b"), "end_turn") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->events.p,
		   "text:gone retry:server_error:1:0 retry:server_error:2:500 text:also gone(supersedes 1) "
		   "retry:server_error:3:0 text:a(supersedes 1) text:b ");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(an_answer_that_is_cut_after_a_call_is_what_is_complete_of_it)
{
	STAGE(s,
	      { .stream = START("m1") TEXT("look") CALL("t1", "Write", "{\"ms\":50}") TEXT("and")
			EVENT("content_block_start", ",\"content_block\":{\"type\":\"text\",\"text\":\"cut\"}"),
		.end = FAIL_CUT },
	      { .stream = SAYS("m2", "done") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM TOOLS ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:look, a:call t1, a:and, u:t1=ok, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(an_error_event_after_a_call_ends_the_answer_there)
{
	STAGE(s,
	      { .stream = START("m1") CALL("t1", "Read", "{}")
			EVENT("error", ",\"error\":{\"type\":\"overloaded_error\"}") },
	      { .stream = SAYS("m2", "done") });

	stage_run(&s);

	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

static const struct {
	const char *what;
	struct reply reply;
	unsigned asked;
	const char *name;
} final[] = {
	{ "no key", { .stream = ERROR_BODY("authentication_error"), .status = 401 }, 1, "authentication_failed" },
	{ "forbidden", { .stream = ERROR_BODY("permission_error"), .status = 403 }, 1, "authentication_failed" },
	{ "bad request", { .stream = ERROR_BODY("invalid_request_error"), .status = 400 }, 1, "invalid_request" },
	{ "too large a request", { .stream = "", .status = 413 }, 1, "invalid_request" },
	{ "TLS", { .end = FAIL_TLS }, 1, "unknown" },
	{ "no event stream", { .stream = "data: oops\n\n" }, 3, "server_error" },
	{ "429 without a time", { .stream = "", .status = 429 }, 5, "rate_limit" },
};

TEST(some_failures_end_the_turn_and_the_prompt_stays)
{
	for (size_t i = 0; i < COUNT_OF(final); i++) {
		struct stage s;
		struct reply replies[6];
		for (size_t k = 0; k < COUNT_OF(replies); k++)
			replies[k] = final[i].reply;
		print_message("# %s\n", final[i].what);
		stage_init(&s, replies, COUNT_OF(replies));

		stage_run(&s);

		CHECK_INT(s.model.asked, final[i].asked);
		CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
		CHECK_CSTR(failure_name(&s.q->failure), final[i].name);
		CHECK(s.q->failure.text[0]);
		CHECK_CSTR(stage_transcript(&s, s.q), "u:hi");
		stage_check_disk(&s);
		stage_release(&s);
	}
}

TEST(after_an_error_the_next_prompt_works)
{
	STAGE(s, { .stream = ERROR_BODY("authentication_error"), .status = 401 }, { .stream = SAYS("m1", "hello") });
	struct agent *a = stage_run(&s);
	CHECK_CSTR(a->trail.p, "ASK GATE STREAM ENDING FINISH IDLE ");

	stage_prompt(a, "again");
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_INT(s.q->failure.kind, FAIL_NONE);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:again, a:hello");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_request_is_given_up_at_its_deadline)
{
	struct reply replies[30];
	struct stage s;
	for (size_t i = 0; i < COUNT_OF(replies); i++)
		replies[i] = (struct reply){ .stream = ERROR_BODY("overloaded_error"), .status = 529 };
	stage_init(&s, replies, COUNT_OF(replies));
	s.config.retry_deadline_ms = 60000;
	uint64_t start = loop_now_ms(s.loop);

	stage_run(&s);

	CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
	CHECK_CSTR(failure_name(&s.q->failure), "overloaded");
	uint64_t took = loop_now_ms(s.loop) - start;
	CHECK(took <= 60000 && took > 15000);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi");
	stage_release(&s);
}

TEST(a_request_that_cannot_be_started_is_a_failure_like_others)
{
	STAGE(s, { .refused = true }, { .stream = SAYS("m1", "hello") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM BACKOFF GATE STREAM FINISH IDLE ");
	CHECK_CSTR(a->events.p, "retry:server_error:1:0 text:hello ");
	stage_release(&s);
}

int test_retry(void)
{
	return RUN_TESTS(T(an_overload_is_waited_out), T(a_retry_after_is_obeyed_by_every_agent),
			 T(an_answer_that_is_cut_before_a_call_never_happened), T(only_the_next_block_supersedes),
			 T(an_answer_that_is_cut_after_a_call_is_what_is_complete_of_it),
			 T(an_error_event_after_a_call_ends_the_answer_there),
			 T(some_failures_end_the_turn_and_the_prompt_stays), T(after_an_error_the_next_prompt_works),
			 T(a_request_is_given_up_at_its_deadline),
			 T(a_request_that_cannot_be_started_is_a_failure_like_others));
}
