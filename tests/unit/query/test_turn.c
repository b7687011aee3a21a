/* SPDX-License-Identifier: MIT
 * test_turn.c - turns that go well, and every stop reason. */
#include "stage.h"
#include "test_query.h"

TEST(a_plain_answer_ends_the_turn)
{
	STAGE(s, { .stream = SAYS("m1", "hello") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM FINISH IDLE ");
	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_STR(buf_str(&s.q->text), "hello");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:hello");
	CHECK_INT(s.q->turn, 1);
	CHECK_INT(s.q->usage.input, 10);
	CHECK_INT(s.q->usage.output, 5);
	CHECK_CSTR(s.q->stop_reason, "end_turn");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_tool_turn_sends_the_result_back)
{
	STAGE(s,
	      { .stream = ANSWER("m1", THINKING TEXT("look") CALL("t1", "Read", "{\"ms\":5,\"say\":\"found\"}"),
				 "tool_use") },
	      { .stream = SAYS("m2", "done") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM TOOLS ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:<thinking>, a:look, a:call t1, u:t1=found, a:done");
	CHECK_STR(buf_str(&s.q->text), "done");
	CHECK_INT(s.q->turn, 2);
	CHECK_INT(s.q->usage.input, 20);
	CHECK_CSTR(a->events.p, "text: text:look call:t1 +t1 =t1 -t1 text:done ");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_second_prompt_goes_on_where_the_first_ended)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .stream = SAYS("m2", "two") });
	struct agent *a = stage_run(&s);

	stage_prompt(a, "again");
	loop_run(s.loop);

	CHECK_INT(a->ends, 2);
	CHECK_STR(buf_str(&s.q->text), "two");
	CHECK_INT(s.q->turn, 1);
	CHECK_INT(s.q->usage.input, 10);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:one, u:again, a:two");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(after_max_turns_the_results_are_there_and_nothing_more_is_asked)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Read", "{}"), "tool_use") });
	s.config.max_turns = 1;

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM TOOLS ASK FINISH IDLE ");
	CHECK_INT(s.q->end, QUERY_MAX_TURNS);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(an_answer_that_is_cut_at_the_output_limit_goes_on)
{
	STAGE(s, { .stream = ANSWER("m1", TEXT("one "), "max_tokens") },
	      { .stream = ANSWER("m2", TEXT("two "), "max_tokens") }, { .status = 529, .stream = "" },
	      { .stream = SAYS("m3", "three") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM ASK GATE STREAM ASK GATE STREAM BACKOFF GATE STREAM FINISH IDLE ");
	CHECK_STR(buf_str(&s.q->text), "one two three");
	CHECK_INT(s.q->end, QUERY_DONE);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(an_answer_is_continued_three_times_at_most)
{
	STAGE(s, { .stream = ANSWER("m1", TEXT("1"), "max_tokens") },
	      { .stream = ANSWER("m2", TEXT("2"), "max_tokens") }, { .stream = ANSWER("m3", TEXT("3"), "max_tokens") },
	      { .stream = ANSWER("m4", TEXT("4"), "max_tokens") });

	stage_run(&s);

	CHECK_INT(s.model.asked, 4);
	CHECK_STR(buf_str(&s.q->text), "1234");
	CHECK_CSTR(s.q->stop_reason, "max_tokens");
	stage_release(&s);
}

TEST(a_pause_is_sent_back_as_it_is)
{
	STAGE(s, { .stream = ANSWER("m1", TEXT("searching"), "pause_turn") }, { .stream = SAYS("m2", "found") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:searching, a:found");
	CHECK(strstr(s.model.bodies[1], "\"searching\"") != NULL);
	CHECK_INT(s.q->end, QUERY_DONE);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_refusal_is_dropped_and_ends_the_turn)
{
	STAGE(s, { .stream = ANSWER("m1", TEXT("I will"), "refusal") }, { .stream = SAYS("m2", "fine") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM FINISH IDLE ");
	CHECK_INT(s.q->end, QUERY_REFUSED);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi");
	CHECK_CSTR(s.q->text.p, "");
	stage_check_disk(&s);
	stage_prompt(a, "something else");
	loop_run(s.loop);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:something else, a:fine");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_full_context_ends_the_turn)
{
	STAGE(s, { .stream = ANSWER("m1", TEXT("half"), "model_context_window_exceeded") });

	stage_run(&s);

	CHECK_INT(s.q->end, QUERY_CONTEXT_FULL);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(an_empty_answer_is_asked_for_once_more)
{
	STAGE(s, { .stream = ANSWER("m1", "", "end_turn") }, { .stream = SAYS("m2", "sorry") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM ASK GATE STREAM FINISH IDLE ");
	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:Your last answer was empty. Give your answer now., a:sorry");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(two_empty_answers_are_an_error)
{
	STAGE(s, { .stream = ANSWER("m1", THINKING, "end_turn") }, { .stream = ANSWER("m2", "", "end_turn") });

	stage_run(&s);

	CHECK_INT(s.q->end, QUERY_EMPTY);
	CHECK_INT(s.model.asked, 2);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(notices_are_told_with_the_next_request)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Read", "{}"), "tool_use") }, { .stream = SAYS("m2", "done") },
	      { .stream = SAYS("m3", "seen") });
	struct agent *a = stage_agent(&s);
	stage_prompt(a, "hi");
	query_notice(s.q, NULL, STR("before the first"));
	loop_run(s.loop);
	query_notice(s.q, NULL, STR("while idle"));
	query_notice(s.q, NULL, STR("and another"));
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:before the first, a:call t1, u:t1=ok, a:done");

	stage_prompt(a, "next");
	loop_run(s.loop);

	CHECK_CSTR(stage_transcript(&s, s.q),
		   "u:hi, u:before the first, a:call t1, u:t1=ok, a:done, u:next, u:while idle, "
		   "u:and another, a:seen");
	stage_check_disk(&s);
	query_notice(s.q, NULL, STR("never told"));
	stage_release(&s);
}

TEST(a_paused_query_asks_nothing_until_it_goes_on)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Read", "{\"ms\":5}"), "tool_use") },
	      { .stream = SAYS("m2", "done") });
	struct agent *a = stage_agent(&s);
	query_pause(&a->q, true);
	stage_prompt(a, "hi");

	loop_run(s.loop);
	CHECK_CSTR(a->trail.p, "ASK ");
	CHECK_INT(s.model.asked, 0);
	query_pause(&a->q, false);
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_DONE);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_query_that_is_paused_at_the_gate_sends_nothing)
{
	STAGE(s, { .stream = SAYS("m1", "done") });
	struct agent *a = stage_agent(&s);
	s.model.endpoint.governor.cap = 0;
	stage_prompt(a, "hi");
	loop_run(s.loop);
	CHECK_CSTR(a->trail.p, "ASK GATE ");

	query_pause(&a->q, true);
	governor_set_most(&s.model.endpoint.governor, 10);
	s.model.endpoint.governor.cap = 10;
	loop_run(s.loop);
	CHECK_INT(s.model.asked, 0);
	query_pause(&a->q, false);
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

static void pause_it(struct query *q)
{
	query_pause(q, true);
	query_pause(q, true);
}

TEST(a_pause_holds_the_bytes_of_a_running_request)
{
	STAGE(s, { .stream = SAYS("m1", "done"), .after_ms = 50 });
	struct agent *a = stage_agent(&s);
	stage_prompt(a, "hi");

	stage_after(&s, 20, pause_it);
	CHECK_INT(s.model.paused, 1);
	CHECK_INT(a->ends, 0);
	query_pause(&a->q, false);
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

TEST(deltas_come_in_the_form_that_was_asked_for)
{
	static const char stream[] =
		START("m1") EVENT("content_block_start", ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
			EVENT("content_block_delta", ",\"delta\":{\"type\":\"text_delta\",\"text\":\"he\"}")
				EVENT("content_block_delta", ",\"delta\":{\"type\":\"text_delta\",\"text\":\"llo\"}")
					EVENT("content_block_stop", "") END("end_turn");
	STAGE(s, { .stream = stream }, { .stream = stream });
	s.config.want_deltas = true;
	struct agent *a = stage_run(&s);
	CHECK_CSTR(a->events.p, "delta:he delta:llo text:hello ");

	s.config.want_deltas = false;
	s.config.want_raw = true;
	struct agent *b = stage_agent(&s);
	stage_prompt(b, "hi");
	loop_run(s.loop);

	CHECK_CSTR(b->events.p, "delta:raw delta:raw delta:raw delta:raw delta:raw delta:raw text:hello delta:raw ");
	stage_release(&s);
}

TEST(a_reminder_goes_with_every_request_and_stays_out_of_the_conversation)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Read", "{}"), "tool_use") }, { .stream = SAYS("m2", "done") });
	s.config.reminder = "You only look.";

	stage_run(&s);

	for (int i = 0; i < 2; i++) {
		const char *first = strstr(s.model.bodies[i], "<system-reminder>\\nYou only look.");
		CHECK(first != NULL);
		CHECK(strstr(first + 1, "<system-reminder>") == NULL);
	}
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(each_request_marks_what_the_one_before_marked_last)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Read", "{}"), "tool_use") },
	      { .stream = ANSWER("m2", CALL("t2", "Read", "{}"), "tool_use") }, { .stream = SAYS("m3", "done") });
#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}}"

	stage_run(&s);

	CHECK(strstr(s.model.bodies[0], "\"hi\"" MARK) != NULL);
	CHECK(strstr(s.model.bodies[1], "\"hi\"" MARK) != NULL);
	CHECK(strstr(s.model.bodies[1], "\"t1\",\"content\":\"ok\"" MARK) != NULL);
	CHECK(strstr(s.model.bodies[2], "\"hi\"" MARK) == NULL);
	CHECK(strstr(s.model.bodies[2], "\"t1\",\"content\":\"ok\"" MARK) != NULL);
	CHECK(strstr(s.model.bodies[2], "\"t2\",\"content\":\"ok\"" MARK) != NULL);
#undef MARK
	stage_release(&s);
}

int test_turn(void)
{
	return RUN_TESTS(T(a_plain_answer_ends_the_turn), T(a_tool_turn_sends_the_result_back),
			 T(a_second_prompt_goes_on_where_the_first_ended),
			 T(after_max_turns_the_results_are_there_and_nothing_more_is_asked),
			 T(an_answer_that_is_cut_at_the_output_limit_goes_on),
			 T(an_answer_is_continued_three_times_at_most), T(a_pause_is_sent_back_as_it_is),
			 T(a_refusal_is_dropped_and_ends_the_turn), T(a_full_context_ends_the_turn),
			 T(an_empty_answer_is_asked_for_once_more), T(two_empty_answers_are_an_error),
			 T(notices_are_told_with_the_next_request), T(a_paused_query_asks_nothing_until_it_goes_on),
			 T(a_query_that_is_paused_at_the_gate_sends_nothing),
			 T(a_pause_holds_the_bytes_of_a_running_request), T(deltas_come_in_the_form_that_was_asked_for),
			 T(a_reminder_goes_with_every_request_and_stays_out_of_the_conversation),
			 T(each_request_marks_what_the_one_before_marked_last));
}
