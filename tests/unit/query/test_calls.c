/* SPDX-License-Identifier: MIT
 * test_calls.c - the calls of one answer: when each may start, results in the order of the calls; calls of a session that
 * was interrupted. */
#include "stage.h"
#include "test_query.h"

TEST(read_only_calls_run_side_by_side_and_are_sent_in_order)
{
	STAGE(s,
	      { .stream = ANSWER("m1",
				 CALL("t1", "Read", "{\"ms\":30}") CALL("t2", "Read", "{\"ms\":10}")
					 CALL("t3", "Read", "{\"ms\":20}"),
				 "tool_use") },
	      { .stream = SAYS("m2", "done") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(s.log.p, "+t1 +t2 +t3 -t2 -t3 -t1 ");
	CHECK_CSTR(stage_transcript(&s, s.q),
		   "u:hi, a:call t1, a:call t2, a:call t3, u:t1=ok, u:t2=ok, u:t3=ok, a:done");
	CHECK_CSTR(a->events.p, "call:t1 +t1 call:t2 +t2 call:t3 +t3 =t2 -t2 =t3 -t3 =t1 -t1 text:done ");
	stage_check_disk(&s);
	stage_release(&s);
}

/* clang-format off */
static const struct {
	const char *what, *stream, *log;
	unsigned parallel;
} orders[] = {
	{ "a writer waits for those before it and holds back those behind it",
	  ANSWER("m1", CALL("r1", "Read", "{\"ms\":30}") CALL("r2", "Read", "{\"ms\":20}") CALL("w3", "Write",
	  "{\"ms\":10}")
		 CALL("r4", "Read", "{\"ms\":10}") CALL("r5", "Read", "{\"ms\":5}"), "tool_use"),
	  "+r1 +r2 -r2 -r1 +w3 -w3 +r4 +r5 -r5 -r4 ", 0 },
	{ "writers run one after another",
	  ANSWER("m1", CALL("w1", "Write", "{\"ms\":5}") CALL("w2", "Write", "{\"ms\":5}"), "tool_use"),
	  "+w1 -w1 +w2 -w2 ", 0 },
	{ "a reader behind a writer waits", ANSWER("m1", CALL("w1", "Write", "{\"ms\":5}") CALL("r2", "Read", "{}"),
	  "tool_use"),
	  "+w1 -w1 +r2 -r2 ", 0 },
	{ "what is only concurrent runs beside readers and its like, and waits for a writer",
	  ANSWER("m1", CALL("c1", "Beside", "{\"ms\":30}") CALL("r2", "Read", "{\"ms\":20}") CALL("c3", "Beside",
	  "{\"ms\":10}")
		 CALL("w4", "Write", "{\"ms\":5}") CALL("c5", "Beside", "{}"), "tool_use"),
	  "+c1 +r2 +c3 -c3 -r2 -c1 +w4 -w4 +c5 -c5 ", 0 },
	{ "no more than the limit at a time",
	  ANSWER("m1", CALL("r1", "Read", "{\"ms\":10}") CALL("r2", "Read", "{\"ms\":20}") CALL("r3", "Read",
	  "{\"ms\":1}")
		 CALL("w4", "Write", "{}"), "tool_use"), "+r1 +r2 -r1 +r3 -r3 -r2 +w4 -w4 ", 2 },
	{ "an unknown tool is answered in its turn",
	  ANSWER("m1", CALL("r1", "Read", "{\"ms\":5}") CALL("x2", "None", "{}") CALL("r3", "Read", "{}"),
	  "tool_use"),
	  "+r1 -r1 +r3 -r3 ", 0 },
	{ "input that does not fit the schema is not run",
	  ANSWER("m1", CALL("r1", "Read", "{\"ms\":\"x\"}") CALL("r2", "Read", "{}"), "tool_use"), "+r2 -r2 ", 0 },
};
/* clang-format on */

TEST(each_call_starts_when_it_may)
{
	for (size_t i = 0; i < COUNT_OF(orders); i++) {
		struct stage s;
		const struct reply replies[] = { { .stream = orders[i].stream }, { .stream = SAYS("m2", "done") } };
		print_message("# %s\n", orders[i].what);
		stage_init(&s, replies, COUNT_OF(replies));
		s.config.parallel_calls = orders[i].parallel;
		stage_run(&s);
		CHECK_CSTR(s.log.p, orders[i].log);
		CHECK_INT(s.q->end, QUERY_DONE);
		stage_check_disk(&s);
		stage_release(&s);
	}
}

TEST(a_tool_starts_before_the_stream_is_over)
{
	STAGE(s,
	      { .stream =
			ANSWER("m1", CALL("t1", "Read", "{\"ms\":5}") TEXT("and") CALL("t2", "Read", "{}"), "tool_use"),
		.gap_ms = 100 },
	      { .stream = SAYS("m2", "done") });

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->events.p, "call:t1 +t1 =t1 -t1 text:and call:t2 +t2 =t2 -t2 text:done ");
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, a:and, a:call t2, u:t1=ok, u:t2=ok, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_call_is_on_disk_before_its_tool_starts)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Write", "{}"), "tool_use") }, { .stream = SAYS("m2", "done") });
	struct session_load l;
	struct err err = { 0 };
	struct agent *a = stage_agent(&s);
	s.hold_gate = true;
	stage_prompt(a, "hi");
	loop_run(s.loop);
	CHECK(s.asked != NULL);

	CHECK_INT(session_load(s.path, &l, &err), 0);

	CHECK_INT(l.call_count, 1);
	CHECK_STR(l.calls[0].id, "t1");
	CHECK(!l.calls[0].result);
	session_load_release(&l);
	tool_call_decided(s.asked, TOOL_DENY, STR("no"));
	loop_run(s.loop);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=no, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

/* What app does with a session that was killed while its tools ran. */
static void restore(struct agent *a, bool run)
{
	struct err err = { 0 };
	struct segment *done = segment_tool_result(STR("t2"), STR("from disk"), false);

	transcript_add(&a->q.transcript, ROLE_USER, segment_text(STR("hi")));
	static const char *const calls[][2] = {
		{ "t1", "Read" }, { "t2", "Write" }, { "t3", "Write" }, { "t4", "None" }, { "t5", "Beside" }
	};
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		char json[120];
		snprintf(json, sizeof json, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\",\"input\":{}}",
			 calls[i][0], calls[i][1]);
		transcript_add(&a->q.transcript, ROLE_ASSISTANT, segment_new(SEGMENT_TOOL_USE, str_from(json)));
		CHECK_INT(query_restore_call(&a->q, str_from(calls[i][0]), str_from(calls[i][1]), STR("{}"),
					     i == 1 ? done : NULL, run, &err),
			  0);
	}
	segment_unref(done);
}

#define LOST                                                                                                           \
	"The program ended before this call had a result. It may or may not have run: check the current state before " \
	"you repeat it."

TEST(an_interrupted_turn_runs_read_only_calls_again_and_no_others)
{
	STAGE(s, { .stream = SAYS("m2", "done") });
	struct agent *a = stage_agent(&s);
	restore(a, true);

	query_start(s.q);
	loop_run(s.loop);

	CHECK_CSTR(a->trail.p, "TOOLS ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(s.log.p, "+t1 -t1 ");
	CHECK_CSTR(stage_transcript(&s, s.q),
		   "u:hi, a:call t1, a:call t2, a:call t3, a:call t4, a:call t5, u:t1=ok, u:t2=from disk, u:t3=" LOST
		   ", u:t4=" LOST ", u:t5=" LOST ", a:done");
	stage_release(&s);
}

TEST(a_new_prompt_closes_an_interrupted_turn_first)
{
	STAGE(s, { .stream = SAYS("m2", "done") });
	struct agent *a = stage_agent(&s);
	restore(a, false);

	stage_prompt(a, "something else");
	loop_run(s.loop);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(s.log.p, "");
	CHECK_CSTR(stage_transcript(&s, s.q),
		   "u:hi, a:call t1, a:call t2, a:call t3, a:call t4, a:call t5, u:t1=" LOST
		   ", u:t2=from disk, u:t3=" LOST ", u:t4=" LOST ", u:t5=" LOST ", u:something else, a:done");
	stage_release(&s);
}

TEST(a_restored_session_that_never_starts_leaves_nothing)
{
	STAGE(s, { .stream = SAYS("m1", "never") });
	struct agent *a = stage_agent(&s);

	restore(a, true);

	CHECK_INT(s.model.asked, 0);
	stage_release(&s);
}

static bool hold_batch(struct query *q, void *data)
{
	(void)data;
	CHECK_INT(q->call_count, 2);
	CHECK(q->calls[0]->result && q->calls[1]->result);
	return true;
}

static bool pass_batch(struct query *q, void *data)
{
	(void)q;
	(void)data;
	return false;
}

#define TWO_READS ANSWER("m1", CALL("t1", "Read", "{}") CALL("t2", "Read", "{}"), "tool_use")

TEST(who_looks_at_the_calls_of_an_answer_holds_the_next_request_back)
{
	STAGE(s, { .stream = TWO_READS }, { .stream = SAYS("m2", "done") });
	s.config.on_batch = hold_batch;
	struct agent *a = stage_agent(&s);

	stage_prompt(a, "hi");
	loop_run(s.loop);
	CHECK_INT(s.model.asked, 1);
	CHECK_INT(a->ends, 0);
	stage_after(&s, 1, query_batch_over);

	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, a:call t2, u:t1=ok, u:t2=ok, a:done");
	stage_release(&s);
}

TEST(nobody_who_looks_at_the_calls_delays_nothing)
{
	STAGE(s, { .stream = TWO_READS }, { .stream = SAYS("m2", "done") });
	s.config.on_batch = pass_batch;

	stage_run(&s);

	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

TEST(a_turn_is_cancelled_while_somebody_looks_at_its_calls)
{
	STAGE(s, { .stream = TWO_READS });
	s.config.on_batch = hold_batch;
	struct agent *a = stage_agent(&s);

	stage_prompt(a, "hi");
	loop_run(s.loop);
	stage_after(&s, 1, query_cancel);
	stage_after(&s, 1, query_batch_over);

	CHECK_INT(a->ends, 1);
	CHECK_INT(s.q->end, QUERY_CANCELLED);
	CHECK_INT(s.model.asked, 1);
	stage_check_disk(&s);
	stage_release(&s);
}

int test_calls(void)
{
	return RUN_TESTS(T(read_only_calls_run_side_by_side_and_are_sent_in_order), T(each_call_starts_when_it_may),
			 T(a_tool_starts_before_the_stream_is_over), T(a_call_is_on_disk_before_its_tool_starts),
			 T(an_interrupted_turn_runs_read_only_calls_again_and_no_others),
			 T(a_new_prompt_closes_an_interrupted_turn_first),
			 T(a_restored_session_that_never_starts_leaves_nothing),
			 T(who_looks_at_the_calls_of_an_answer_holds_the_next_request_back),
			 T(nobody_who_looks_at_the_calls_delays_nothing),
			 T(a_turn_is_cancelled_while_somebody_looks_at_its_calls));
}
