/* SPDX-License-Identifier: MIT
 * test_fork_barrier.c - of several forks the first goes ahead, so that the others find its prefix in the cache. */
#include "stage.h"
#include "test_query.h"

static void start_all(struct stage *s)
{
	struct fork_barrier *gate = fork_barrier_new(s->loop);

	for (int i = 0; i < AGENTS; i++) {
		struct agent *a = stage_agent(s);
		a->q.fork_barrier = fork_barrier_ref(gate);
		stage_prompt(a, "hi");
	}
	fork_barrier_unref(gate);
}

static void check_all(struct stage *s, enum query_end end)
{
	for (int i = 0; i < AGENTS; i++) {
		CHECK_INT(s->agents[i].ends, 1);
		CHECK_INT(s->agents[i].q.end, end);
	}
}

TEST(the_others_go_at_the_first_byte_of_the_leader)
{
	STAGE(s, { .stream = SAYS("m1", "a"), .after_ms = 700, .gap_ms = 500 }, { .stream = SAYS("m2", "b") },
	      { .stream = SAYS("m3", "c") });
	uint64_t start = loop_now_ms(s.loop);

	start_all(&s);
	loop_run(s.loop);

	CHECK_INT(s.model.asked_ms[0], start);
	CHECK_INT(s.model.asked_ms[1], start + 700);
	CHECK_INT(s.model.asked_ms[2], start + 700);
	check_all(&s, QUERY_DONE);
	stage_release(&s);
}

TEST(the_others_go_after_two_seconds)
{
	STAGE(s, { .stream = SAYS("m1", "a"), .after_ms = 5000 }, { .stream = SAYS("m2", "b") },
	      { .stream = SAYS("m3", "c") });
	uint64_t start = loop_now_ms(s.loop);

	start_all(&s);
	loop_run(s.loop);

	CHECK_INT(s.model.asked_ms[1], start + 2000);
	CHECK_INT(s.model.asked_ms[2], start + 2000);
	check_all(&s, QUERY_DONE);
	stage_release(&s);
}

TEST(the_others_go_when_the_leader_gives_up)
{
	STAGE(s, { .stream = "", .status = 401, .after_ms = 100 }, { .stream = SAYS("m2", "b") },
	      { .stream = SAYS("m3", "c") });
	uint64_t start = loop_now_ms(s.loop);

	start_all(&s);
	loop_run(s.loop);

	CHECK_INT(s.model.asked_ms[1], start + 100);
	CHECK_INT(s.agents[0].q.end, QUERY_MODEL_ERROR);
	CHECK_INT(s.agents[1].q.end, QUERY_DONE);
	stage_release(&s);
}

TEST(the_others_go_when_the_leader_is_cancelled)
{
	STAGE(s, { .never = true }, { .stream = SAYS("m2", "b") }, { .stream = SAYS("m3", "c") });
	uint64_t start = loop_now_ms(s.loop);

	start_all(&s);
	stage_after(&s, 300, query_cancel);

	CHECK_INT(s.model.asked_ms[1], start + 300);
	CHECK_INT(s.agents[0].q.end, QUERY_CANCELLED);
	CHECK_INT(s.agents[2].q.end, QUERY_DONE);
	stage_release(&s);
}

TEST(a_kick_is_left_however_often_it_waited)
{
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);
	struct fork_barrier *gate = fork_barrier_new(loop);
	struct kick leader = { 0 }, other = { 0 }, third = { 0 };

	CHECK(fork_barrier_pass(gate, &leader));
	CHECK(!fork_barrier_pass(gate, &other));
	CHECK(!fork_barrier_pass(gate, &third));
	CHECK(!fork_barrier_pass(gate, &other));
	fork_barrier_leave(gate, &other);
	fork_barrier_leave(gate, &third);
	fork_barrier_leave(gate, &third);

	CHECK_INT(gate->count, 0);
	fork_barrier_open(gate);
	CHECK(fork_barrier_pass(gate, &other));
	fork_barrier_unref(gate);
	fork_barrier_unref(NULL);
	loop_free(loop);
}

TEST(a_gate_that_nobody_needs_any_more_stops_its_timer)
{
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);
	struct fork_barrier *gate = fork_barrier_new(loop);
	struct kick leader = { 0 };
	uint64_t start = loop_now_ms(loop);

	CHECK(fork_barrier_pass(gate, &leader));
	fork_barrier_unref(gate);
	loop_run(loop);

	CHECK_INT(loop_now_ms(loop), start);
	loop_free(loop);
}

int test_fork_barrier(void)
{
	return RUN_TESTS(T(the_others_go_at_the_first_byte_of_the_leader), T(the_others_go_after_two_seconds),
			 T(the_others_go_when_the_leader_gives_up), T(the_others_go_when_the_leader_is_cancelled),
			 T(a_kick_is_left_however_often_it_waited),
			 T(a_gate_that_nobody_needs_any_more_stops_its_timer));
}
