/* SPDX-License-Identifier: MIT
 * test_cancel.c - a cancel in every state ends the turn once, and leaves a conversation that can go on. */
#include "stage.h"
#include "test_query.h"

#define NOTE  "[Request interrupted by user]"
#define NEVER "{\"ms\":-1}"

static void cancel_twice(struct query *q)
{
	query_cancel(q);
	query_cancel(q);
}

/* Cancels after the time, checks what must always hold, and shows that the next prompt works. */
static void cancel_and_go_on(struct stage *s, uint64_t ms, const char *trail, const char *transcript)
{
	struct agent *a = &s->agents[0];
	AUTO_BUF struct buf after = { 0 };

	stage_after(s, ms, cancel_twice);
	CHECK_INT(a->ends, 1);
	CHECK_INT(s->q->end, QUERY_CANCELLED);
	CHECK_CSTR(a->trail.p, trail);
	CHECK_CSTR(stage_transcript(s, s->q), transcript);
	CHECK_INT(s->model.playing, 0);
	CHECK_INT(s->model.endpoint.governor.in_flight, 0);
	CHECK_INT(s->model.endpoint.governor.waiting, 0);
	stage_check_disk(s);

	s->model.endpoint.governor.cap = 10;
	stage_prompt(a, "go on");
	loop_run(s->loop);
	CHECK_INT(s->q->end, QUERY_DONE);
	buf_addf(&after, "%s, u:go on, a:fine", transcript);
	CHECK_CSTR(stage_transcript(s, s->q), after.p);
	stage_check_disk(s);
}

TEST(a_cancel_before_the_request_sends_none)
{
	STAGE(s, { .stream = SAYS("m9", "fine") });
	stage_agent(&s);
	query_pause(s.q, true);
	stage_prompt(&s.agents[0], "hi");
	stage_after(&s, 10, cancel_twice);
	CHECK_INT(s.agents[0].ends, 1);
	CHECK_CSTR(s.agents[0].trail.p, "ASK ENDING FINISH IDLE ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:" NOTE);
	CHECK_INT(s.model.asked, 0);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_cancel_while_the_turn_waits_for_its_slot_ends_it)
{
	STAGE(s, { .stream = SAYS("m9", "fine") });
	s.model.endpoint.governor.cap = 0;
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE ENDING FINISH IDLE ", "u:hi, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_before_the_first_byte_of_the_answer_ends_the_turn)
{
	STAGE(s, { .never = true }, { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM ENDING FINISH IDLE ", "u:hi, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_in_the_middle_of_a_text_drops_the_text)
{
	STAGE(s, { .stream = START("m1") TEXT("gone"), .never = true }, { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM ENDING FINISH IDLE ", "u:hi, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_while_the_answer_arrives_cancels_the_call_that_runs)
{
	STAGE(s,
	      { .stream = START("m1") TEXT("look") CALL("t1", "Read", NEVER) CALL("t2", "Write", "{}") NEXT,
		.never = true },
	      { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM ENDING FINISH IDLE ",
			 "u:hi, a:look, a:call t1, a:call t2, u:t1=cancelled, u:t2=The call was cancelled before it "
			 "ran., u:" NOTE);
	CHECK_CSTR(s.log.p, "+t1 !t1 ");
	stage_release(&s);
}

TEST(a_cancel_keeps_the_result_of_a_call_that_has_ended)
{
	STAGE(s, { .stream = START("m1") CALL("t1", "Read", "{}") NEXT, .never = true },
	      { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM ENDING FINISH IDLE ", "u:hi, a:call t1, u:t1=ok, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_between_two_attempts_ends_the_turn)
{
	STAGE(s, { .stream = "", .status = 529 }, { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 100, "ASK GATE STREAM BACKOFF ENDING FINISH IDLE ", "u:hi, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_after_a_cut_answer_drops_what_came_of_it)
{
	STAGE(s, { .stream = START("m1") TEXT("gone"), .end = FAIL_CUT }, { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 100, "ASK GATE STREAM BACKOFF ENDING FINISH IDLE ", "u:hi, u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_while_tools_run_cancels_one_and_skips_the_next)
{
	STAGE(s,
	      { .stream = ANSWER("m1", CALL("t1", "Read", "{}") CALL("t2", "Write", NEVER) CALL("t3", "Read", "{}"),
				 "tool_use") },
	      { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM TOOLS ENDING FINISH IDLE ",
			 "u:hi, a:call t1, a:call t2, a:call t3, u:t1=ok, u:t2=cancelled, u:t3=The call was cancelled "
			 "before it ran., u:" NOTE);
	CHECK_CSTR(s.log.p, "+t1 -t1 +t2 !t2 ");
	stage_release(&s);
}

TEST(a_cancel_while_a_permission_is_asked_for_ends_the_call)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Write", "{}"), "tool_use") }, { .stream = SAYS("m9", "fine") });
	s.hold_gate = true;
	stage_prompt(stage_agent(&s), "hi");

	cancel_and_go_on(&s, 10, "ASK GATE STREAM TOOLS ENDING FINISH IDLE ",
			 "u:hi, a:call t1, u:t1=The call was cancelled before it ran., u:" NOTE);
	stage_release(&s);
}

TEST(a_cancel_without_a_turn_does_nothing)
{
	STAGE(s, { .stream = SAYS("m1", "hello") });
	struct agent *a = stage_agent(&s);

	cancel_twice(s.q);
	loop_run(s.loop);
	CHECK_INT(a->ends, 0);
	stage_prompt(a, "hi");
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

TEST(a_block_that_arrives_with_the_cancel_is_not_recorded)
{
	STAGE(s, { .stream = START("m1") CALL("t1", "Write", "{}"), .after_ms = 10, .never = true },
	      { .stream = SAYS("m9", "fine") });
	stage_prompt(stage_agent(&s), "hi");

	/* The same moment: the timer of the reply was started first. */
	stage_after(&s, 10, cancel_twice);

	CHECK_INT(s.q->end, QUERY_CANCELLED);
	(void)stage_transcript(&s, s.q);
	stage_check_disk(&s);
	stage_release(&s);
}

int test_cancel(void)
{
	return RUN_TESTS(
		T(a_cancel_before_the_request_sends_none), T(a_cancel_while_the_turn_waits_for_its_slot_ends_it),
		T(a_cancel_before_the_first_byte_of_the_answer_ends_the_turn),
		T(a_cancel_in_the_middle_of_a_text_drops_the_text),
		T(a_cancel_while_the_answer_arrives_cancels_the_call_that_runs),
		T(a_cancel_keeps_the_result_of_a_call_that_has_ended), T(a_cancel_between_two_attempts_ends_the_turn),
		T(a_cancel_after_a_cut_answer_drops_what_came_of_it),
		T(a_cancel_while_tools_run_cancels_one_and_skips_the_next),
		T(a_cancel_while_a_permission_is_asked_for_ends_the_call), T(a_cancel_without_a_turn_does_nothing),
		T(a_block_that_arrives_with_the_cancel_is_not_recorded));
}
