/* SPDX-License-Identifier: MIT
 * test_compact.c - conversations that are summed up: near the window, when asked to, when the server does not take them; and
 * what can go wrong on the way. */
#include "stage.h"
#include "lib/io/file.h"
#include "test_query.h"

#define CALLS(id, call) ANSWER(id, CALL(call, "Read", "{}"), "tool_use")
#define TOO_LONG \
	"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9 > 8\"}}"
#define GO_ON                                                                                         \
	"u:Continue the work exactly where the summary ends. Do not mention the summary, and do not " \
	"ask whether to continue."
#define SUMMARY "u:This conversation continues an earlier one, which was replaced by this summary:\n\nsum"

static const struct compact_policy at_once = { .possible = true, .automatic = true, .window = 12 };
static const struct compact_policy when_refused = { .possible = true, .automatic = true };

TEST(a_conversation_near_the_window_is_summed_up_between_two_requests)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "done") });
	s.config.compact = at_once;

	struct agent *a = stage_run(&s);

	CHECK_CSTR(a->trail.p, "ASK GATE STREAM TOOLS ASK COMPACT GATE STREAM COMPACT ASK GATE STREAM FINISH IDLE ");
	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", " GO_ON ", a:done");
	CHECK(strstr(s.model.bodies[1], "\"tool_result\"") != NULL);
	CHECK(strstr(s.model.bodies[1], "Call no tools") != NULL);
	CHECK(strstr(s.model.bodies[2], "\"tool_result\"") == NULL);
	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_INT(s.q->turn, 2);
	CHECK_INT(s.q->usage.input, 30);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_prompt_that_waits_for_its_answer_stays_word_for_word)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "two") });
	s.config.compact = at_once;
	struct agent *a = stage_run(&s);

	stage_prompt(a, "and now this");
	loop_run(s.loop);

	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", u:and now this, a:two");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(one_that_is_full_again_at_once_is_not_summed_up_again_and_again)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = CALLS("m3", "t3") },
	      { .stream = SAYS("m4", "done") });
	s.config.compact = at_once;

	stage_run(&s);

	CHECK_INT(s.model.asked, 4);
	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

/* Each answer fills the context by itself. */
#define FULL(id, call)                                                                                      \
	EVENT("message_start", ",\"message\":{\"id\":\"" id                                                 \
			       "\",\"model\":\"m\",\"usage\":{\"input_tokens\":9000,\"output_tokens\":1}}") \
	CALL(call, "Read", "{}") END("tool_use")

TEST(a_turn_that_fills_the_context_with_each_answer_is_summed_up_three_times)
{
	STAGE(s, { .stream = FULL("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = FULL("m3", "t3") },
	      { .stream = SAYS("m4", "sum") }, { .stream = FULL("m5", "t5") }, { .stream = SAYS("m6", "sum") },
	      { .stream = FULL("m7", "t7") }, { .stream = FULL("m8", "t8") }, { .stream = SAYS("m9", "done") });
	s.config.compact = (struct compact_policy){ .possible = true, .automatic = true, .window = 8000 };

	stage_run(&s);

	CHECK_INT(s.model.asked, 9);
	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", " GO_ON ", a:call t7, u:t7=ok, a:call t8, u:t8=ok, a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

/* What the server counted says how many bytes of this conversation are a token. */
TEST(what_was_added_is_estimated_by_the_counts_of_the_server)
{
	static const struct {
		const char *what, *counted;
		int64_t window;
		bool full;
	} rows[] = {
		{ "dense", "9000", 10500, true }, /* 3,000 bytes are 2,000 tokens at least */
		{ "not dense", "5", 640, false }, /* 500 */
		{ "not dense, and full", "5", 500, true },
	};
	char prompt[3001] = "";

	memset(prompt, 'x', sizeof prompt - 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char first[1000];
		snprintf(first, sizeof first,
			 "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"m\",\"usage\":"
			 "{\"input_tokens\":%s,\"output_tokens\":1}}}\n\n%s",
			 rows[i].counted, TEXT("one") END("end_turn"));
		const struct reply replies[] = { { .stream = first },
						 { .stream = rows[i].full ? SAYS("m2", "sum") : SAYS("m2", "two") },
						 { .stream = SAYS("m3", "two") } };
		struct stage s;
		print_message("# %s\n", rows[i].what);
		stage_init(&s, replies, rows[i].full ? 3 : 2);
		s.config.compact =
			(struct compact_policy){ .possible = true, .automatic = true, .window = rows[i].window };
		struct agent *a = stage_run(&s);

		stage_prompt(a, prompt);
		loop_run(s.loop);

		CHECK_INT(s.q->end, QUERY_DONE);
		CHECK_INT(s.model.asked, rows[i].full ? 3 : 2);
		CHECK_INT(strstr(s.model.bodies[1], "Call no tools") != NULL, rows[i].full);
		stage_release(&s);
	}
}

TEST(a_first_prompt_is_never_summed_up)
{
	STAGE(s, { .status = 413, .stream = "" });
	s.config.compact = at_once;

	stage_run(&s);

	CHECK_INT(s.model.asked, 1);
	CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
	stage_release(&s);
}

static const struct {
	const char *what;
	struct reply refusal;
} refusals[] = {
	{ "a request with too many tokens", { .status = 400, .stream = TOO_LONG } },
	{ "a request with too many bytes", { .status = 413, .stream = "" } },
	{ "an answer without room", { .stream = ANSWER("m2", TEXT("half"), "model_context_window_exceeded") } },
};

TEST(a_conversation_that_the_server_does_not_take_is_summed_up_and_sent_once_more)
{
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		const struct reply replies[] = { { .stream = CALLS("m1", "t1") },
						 refusals[i].refusal,
						 { .stream = SAYS("m3", "sum") },
						 { .stream = SAYS("m4", "done") } };
		struct stage s;
		print_message("# %s\n", refusals[i].what);
		stage_init(&s, replies, COUNT_OF(replies));
		s.config.compact = when_refused;

		stage_run(&s);

		CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", " GO_ON ", a:done");
		CHECK_INT(s.q->end, QUERY_DONE);
		stage_check_disk(&s);
		stage_release(&s);
	}
}

TEST(what_is_too_long_after_that_is_an_error)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .status = 400, .stream = TOO_LONG },
	      { .stream = SAYS("m3", "sum") }, { .status = 400, .stream = TOO_LONG });
	s.config.compact = when_refused;

	stage_run(&s);

	CHECK_INT(s.model.asked, 4);
	CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
	CHECK(strstr(s.q->failure.text, "prompt is too long") != NULL);
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_summary_that_is_too_long_to_ask_for_is_asked_for_with_less)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .status = 400, .stream = TOO_LONG },
	      { .status = 400, .stream = TOO_LONG }, { .status = 400, .stream = TOO_LONG });
	s.config.compact = when_refused;

	stage_run(&s);

	CHECK_INT(s.model.asked, 4);
	CHECK(strstr(s.model.bodies[3], "The beginning of this conversation was left out") != NULL);
	CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(the_request_for_a_summary_is_tried_again_as_any_other)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .status = 529, .stream = "" },
	      { .stream = START("m2") TEXT("half"), .end = FAIL_CUT }, { .stream = SAYS("m3", "sum") },
	      { .stream = SAYS("m4", "done") });
	s.config.compact = at_once;

	stage_run(&s);

	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", " GO_ON ", a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

static const struct {
	const char *what;
	struct reply reply;
} failures[] = {
	{ "the server refuses", { .status = 401, .stream = "" } },
	{ "the model refuses", { .stream = ANSWER("m2", TEXT("I will"), "refusal") } },
	{ "an empty summary", { .stream = ANSWER("m2", "", "end_turn") } },
	{ "only a call", { .stream = CALLS("m2", "t2") } },
};

TEST(without_a_summary_the_turn_goes_on_as_it_is)
{
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		const struct reply replies[] = { { .stream = CALLS("m1", "t1") },
						 failures[i].reply,
						 { .stream = SAYS("m3", "done") } };
		struct stage s;
		print_message("# %s\n", failures[i].what);
		stage_init(&s, replies, COUNT_OF(replies));
		s.config.compact = at_once;

		stage_run(&s);

		CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok, a:done");
		CHECK_CSTR(s.log.p, "+t1 -t1 ");
		CHECK_INT(s.q->end, QUERY_DONE);
		stage_check_disk(&s);
		stage_release(&s);
	}
}

TEST(a_turn_that_only_sums_up_ends_with_the_summary)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "two") });
	s.config.compact = when_refused;
	struct agent *a = stage_run(&s);

	query_compact(s.q, STR("keep the numbers"));
	loop_run(s.loop);

	CHECK_INT(a->ends, 2);
	CHECK_INT(s.q->end, QUERY_DONE);
	CHECK(strstr(s.model.bodies[1], "keep the numbers") != NULL);
	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY);
	stage_check_disk(&s);
	stage_prompt(a, "next");
	loop_run(s.loop);
	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", u:next, a:two");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_turn_that_only_sums_up_and_cannot_is_an_error)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .status = 401, .stream = "" });
	s.config.compact = when_refused;
	stage_run(&s);

	query_compact(s.q, STR(""));
	loop_run(s.loop);

	CHECK_INT(s.q->end, QUERY_MODEL_ERROR);
	CHECK_INT(s.q->failure.status, 401);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:one");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(a_cancelled_summary_never_happened)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .stream = START("m2") TEXT("su"), .never = true });
	s.config.compact = when_refused;
	s.config.interrupt_note = NULL;
	stage_run(&s);

	query_compact(s.q, STR(""));
	stage_after(&s, 10, query_cancel);

	CHECK_INT(s.q->end, QUERY_CANCELLED);
	CHECK(s.q->compaction == NULL);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:one");
	stage_check_disk(&s);
	stage_release(&s);
}

static bool hold(struct query *q, void *data)
{
	(void)q, (void)data;
	return true;
}

static void refuse(struct query *q)
{
	query_compact_decided(q, false, STR("not now"));
}

static void allow(struct query *q)
{
	query_compact_decided(q, true, STR("in verse"));
}

static void keep_note(struct query *q, struct transcript *out, void *data)
{
	(void)q, (void)data;
	transcript_add(out, ROLE_USER, segment_text(STR("kept")));
}

TEST(whoever_looks_first_may_add_instructions_and_keep_things)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "done") });
	s.config.compact = at_once;
	s.config.compact_owner = (struct compact_owner){ .before = hold, .keep = keep_note };
	stage_prompt(stage_agent(&s), "hi");

	stage_after(&s, 10, allow);

	CHECK(strstr(s.model.bodies[1], "in verse") != NULL);
	CHECK_CSTR(stage_transcript(&s, s.q), SUMMARY ", u:kept, " GO_ON ", a:done");
	stage_check_disk(&s);
	stage_release(&s);
}

TEST(whoever_looks_first_may_refuse)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "done") });
	s.config.compact = at_once;
	s.config.compact_owner.before = hold;
	stage_prompt(stage_agent(&s), "hi");

	stage_after(&s, 10, refuse);

	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=ok, a:done");
	CHECK_INT(s.model.asked, 2);
	stage_release(&s);
}

TEST(whoever_looks_afterwards_is_waited_for)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "done") });
	s.config.compact = at_once;
	s.config.compact_owner.after = hold;
	stage_prompt(stage_agent(&s), "hi");

	loop_run(s.loop);
	CHECK_INT(s.model.asked, 2);
	stage_after(&s, 10, query_compact_reported);

	CHECK_INT(s.model.asked, 3);
	CHECK_INT(s.q->end, QUERY_DONE);
	stage_release(&s);
}

/* Everything behind the last line with this in it is cut off, that line too. */
static void cut_file_at(struct stage *s, const char *text)
{
	AUTO_BUF struct buf file = { 0 };

	CHECK_INT(file_read(s->path, 1 << 20, &file, NULL), 0);
	char *at = strstr(file.p, text);
	CHECK(at != NULL);
	while (at > file.p && at[-1] != '\n')
		at--;
	CHECK_INT(truncate(s->path, at - file.p), 0);
}

TEST(a_boundary_without_its_summary_means_nothing)
{
	STAGE(s, { .stream = SAYS("m1", "one") }, { .stream = SAYS("m2", "sum") });
	struct session_load l;
	struct err err = { 0 };
	s.config.compact = when_refused;
	stage_run(&s);
	query_compact(s.q, STR(""));
	loop_run(s.loop);

	cut_file_at(&s, "isCompactSummary");

	CHECK_INT(session_load(s.path, &l, &err), 0);
	CHECK_INT(transcript_count(&l.transcript), 2);
	CHECK(!l.interrupted);
	session_load_release(&l);
	stage_release(&s);
}

TEST(a_summary_in_the_middle_of_a_turn_is_a_turn_that_can_go_on)
{
	STAGE(s, { .stream = CALLS("m1", "t1") }, { .stream = SAYS("m2", "sum") }, { .stream = SAYS("m3", "done") });
	struct session_load l;
	struct err err = { 0 };
	s.config.compact = at_once;
	stage_run(&s);

	cut_file_at(&s, "\"done\"");

	CHECK_INT(session_load(s.path, &l, &err), 0);
	CHECK_INT(transcript_count(&l.transcript), 2);
	CHECK(l.interrupted);
	CHECK_INT(l.prompts, 1);
	session_load_release(&l);
	stage_release(&s);
}

int test_compact(void)
{
	return RUN_TESTS(
		T(a_conversation_near_the_window_is_summed_up_between_two_requests),
		T(a_prompt_that_waits_for_its_answer_stays_word_for_word),
		T(one_that_is_full_again_at_once_is_not_summed_up_again_and_again),
		T(a_turn_that_fills_the_context_with_each_answer_is_summed_up_three_times),
		T(what_was_added_is_estimated_by_the_counts_of_the_server), T(a_first_prompt_is_never_summed_up),
		T(a_conversation_that_the_server_does_not_take_is_summed_up_and_sent_once_more),
		T(what_is_too_long_after_that_is_an_error),
		T(a_summary_that_is_too_long_to_ask_for_is_asked_for_with_less),
		T(the_request_for_a_summary_is_tried_again_as_any_other),
		T(without_a_summary_the_turn_goes_on_as_it_is), T(a_turn_that_only_sums_up_ends_with_the_summary),
		T(a_turn_that_only_sums_up_and_cannot_is_an_error), T(a_cancelled_summary_never_happened),
		T(whoever_looks_first_may_add_instructions_and_keep_things), T(whoever_looks_first_may_refuse),
		T(whoever_looks_afterwards_is_waited_for), T(a_boundary_without_its_summary_means_nothing),
		T(a_summary_in_the_middle_of_a_turn_is_a_turn_that_can_go_on));
}
