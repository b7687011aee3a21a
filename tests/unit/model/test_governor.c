/* SPDX-License-Identifier: MIT
 * test_governor.c - one limiter for all requests, on the virtual clock. */
#include "unit.h"
#include "core/model/governor.h"
#include "test_model.h"

enum { SLOTS = 40 };

struct client {
	struct governor_slot slot;
	uint64_t at_ms; /* when it was granted */
	unsigned place; /* the how-manieth; 0: not yet */
};

struct stage {
	struct loop *loop;
	struct governor g;
	struct client c[SLOTS];
	unsigned granted;
};

static struct stage *current; /* slots have no owner of their own */

static void on_granted(struct governor_slot *slot)
{
	struct client *c = CONTAINER_OF(slot, struct client, slot);

	c->place = ++current->granted;
	c->at_ms = loop_now_ms(current->loop);
}

static void stage_init(struct stage *s, unsigned most)
{
	*s = (struct stage){ .loop = loop_new(LOOP_VIRTUAL_CLOCK) };
	governor_init(&s->g, s->loop, most);
	for (int i = 0; i < SLOTS; i++)
		s->c[i].slot.on_granted = on_granted;
	current = s;
}

static void stage_release(struct stage *s)
{
	for (int i = 0; i < SLOTS; i++)
		governor_leave(&s->c[i].slot, GOVERNOR_OTHER, 0);
	governor_release(&s->g);
	loop_free(s->loop);
}

static void enter(struct stage *s, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		governor_enter(&s->g, &s->c[i].slot);
	loop_run(s->loop);
}

static void leave(struct stage *s, unsigned i, enum governor_outcome outcome, int64_t hold_ms)
{
	governor_leave(&s->c[i].slot, outcome, hold_ms);
}

TEST(requests_go_in_the_order_of_arrival_up_to_the_cap)
{
	struct stage s;
	stage_init(&s, 3);

	enter(&s, 0, 5);
	CHECK_INT(s.g.in_flight, 3);
	CHECK_INT(s.g.waiting, 2);
	for (unsigned i = 0; i < 3; i++)
		CHECK_INT(s.c[i].place, i + 1);
	CHECK(!s.c[3].slot.granted);
	leave(&s, 1, GOVERNOR_OK, 0);
	loop_run(s.loop);

	CHECK_INT(s.c[3].place, 4);
	CHECK(!s.c[4].slot.granted);
	stage_release(&s);
}

TEST(a_grant_never_comes_from_inside_enter)
{
	struct stage s;
	stage_init(&s, 3);

	governor_enter(&s.g, &s.c[0].slot);
	CHECK(!s.c[0].place);
	loop_run(s.loop);

	CHECK_INT(s.c[0].place, 1);
	stage_release(&s);
}

TEST(who_leaves_while_waiting_takes_no_slot)
{
	struct stage s;
	stage_init(&s, 1);

	enter(&s, 0, 4);
	leave(&s, 2, GOVERNOR_LIMITED, 60000);
	leave(&s, 3, GOVERNOR_OTHER, 0);
	leave(&s, 3, GOVERNOR_OTHER, 0);
	CHECK_INT(s.g.waiting, 1);
	leave(&s, 0, GOVERNOR_OTHER, 0);
	loop_run(s.loop);

	CHECK_INT(s.c[1].place, 2);
	CHECK(!s.c[2].place && !s.c[3].place);
	CHECK_INT(s.g.cap, 1);
	enter(&s, 3, 4);
	leave(&s, 1, GOVERNOR_OTHER, 0);
	loop_run(s.loop);
	CHECK_INT(s.c[3].place, 3);
	stage_release(&s);
}

TEST(a_429_narrows_the_cap_to_what_is_under_way)
{
	struct stage s;
	stage_init(&s, 20);
	enter(&s, 0, 20);

	for (unsigned i = 0; i < 12; i++)
		leave(&s, i, GOVERNOR_LIMITED, 0);

	CHECK_INT(s.g.cap, 8);
	enter(&s, 20, 25);
	CHECK_INT(s.g.in_flight, 8);
	CHECK_INT(s.g.waiting, 5);
	stage_release(&s);
}

TEST(the_cap_is_never_below_one)
{
	struct stage s;
	stage_init(&s, 2);

	for (int round = 0; round < 5; round++) {
		enter(&s, 0, 1);
		CHECK(s.c[0].slot.granted);
		leave(&s, 0, round % 2 ? GOVERNOR_LIMITED : GOVERNOR_OVERLOADED, 0);
	}

	CHECK_INT(s.g.cap, 1);
	stage_release(&s);
}

TEST(an_overload_lowers_the_cap_once_per_round)
{
	struct stage s;
	stage_init(&s, 20);
	enter(&s, 0, 20);

	for (unsigned i = 0; i < 20; i++)
		leave(&s, i, GOVERNOR_OVERLOADED, 0);

	CHECK_INT(s.g.cap, 14);
	stage_release(&s);
}

static void nothing(struct timer *timer)
{
	(void)timer;
}

static void pass_time(struct stage *s, uint64_t ms)
{
	struct timer timer = { .fire = nothing };

	timer_start(s->loop, &timer, ms);
	loop_run(s->loop);
}

TEST(an_overload_of_the_next_round_lowers_it_again)
{
	struct stage s;
	stage_init(&s, 20);
	enter(&s, 0, 10);
	leave(&s, 0, GOVERNOR_OVERLOADED, 0);
	CHECK_INT(s.g.cap, 14);
	pass_time(&s, 10);
	enter(&s, 10, 12);

	leave(&s, 10, GOVERNOR_OVERLOADED, 0);
	leave(&s, 1, GOVERNOR_OVERLOADED, 0);

	CHECK_INT(s.g.cap, 9);
	stage_release(&s);
}

TEST(a_hold_is_for_everybody_and_ends)
{
	struct stage s;
	stage_init(&s, 20);
	enter(&s, 0, 2);
	uint64_t start = loop_now_ms(s.loop);
	leave(&s, 0, GOVERNOR_OTHER, 5000);
	leave(&s, 1, GOVERNOR_OTHER, 3000);

	enter(&s, 2, 5);

	for (unsigned i = 2; i < 5; i++)
		CHECK_INT(s.c[i].at_ms, start + 5000);
	stage_release(&s);
}

static void leave_second(struct timer *timer)
{
	(void)timer;
	leave(current, 1, GOVERNOR_OTHER, 0);
}

TEST(a_hold_that_nobody_waits_for_does_not_keep_the_loop_running)
{
	struct stage s;
	stage_init(&s, 1);
	enter(&s, 0, 1);
	leave(&s, 0, GOVERNOR_LIMITED, 50000);
	governor_enter(&s.g, &s.c[1].slot);
	struct timer soon = { .fire = leave_second };
	timer_start(s.loop, &soon, 10);
	uint64_t start = loop_now_ms(s.loop);

	loop_run(s.loop);

	CHECK_INT(loop_now_ms(s.loop), start + 10);
	stage_release(&s);
}

TEST(each_success_widens_the_cap_by_one_up_to_the_most)
{
	struct stage s;
	stage_init(&s, 10);
	s.g.cap = 4;
	enter(&s, 0, 4);

	for (unsigned i = 0; i < 3; i++)
		leave(&s, i, GOVERNOR_OK, 0);
	CHECK_INT(s.g.cap, 7);
	for (int i = 0; i < 20; i++) {
		enter(&s, 5, 6);
		leave(&s, 5, GOVERNOR_OK, 0);
	}

	CHECK_INT(s.g.cap, 10);
	stage_release(&s);
}

TEST(after_a_429_a_whole_round_of_successes_widens_it_by_one)
{
	struct stage s;
	stage_init(&s, 8);
	enter(&s, 0, 5);
	leave(&s, 0, GOVERNOR_LIMITED, 0);
	CHECK_INT(s.g.cap, 4);

	for (int i = 0; i < 3; i++) {
		enter(&s, 9, 10);
		leave(&s, 1 + (unsigned)i, GOVERNOR_OK, 0);
		leave(&s, 9, GOVERNOR_OTHER, 0);
	}
	CHECK_INT(s.g.cap, 4);
	leave(&s, 4, GOVERNOR_OK, 0);

	CHECK_INT(s.g.cap, 5);
	stage_release(&s);
}

/* So many successes until the cap widens */
static unsigned successes_to_widen(struct stage *s)
{
	unsigned cap = s->g.cap, n = 0;

	for (; s->g.cap == cap && n < 1000; n++) {
		enter(s, 9, 10);
		leave(s, 9, GOVERNOR_OK, 0);
	}
	return n;
}

static void meet_429(struct stage *s, unsigned under_way)
{
	enter(s, 10, 10 + under_way + 1);
	for (unsigned i = 10; i <= 10 + under_way; i++)
		leave(s, i, i == 10 ? GOVERNOR_LIMITED : GOVERNOR_OTHER, 0);
}

TEST(a_probe_that_meets_a_429_doubles_the_rounds_until_the_next_one)
{
	struct stage s;
	stage_init(&s, 8);
	meet_429(&s, 4);
	CHECK_INT(s.g.cap, 4);

	CHECK_INT(successes_to_widen(&s), 4);
	for (unsigned rounds = 2; rounds <= 8; rounds *= 2) {
		meet_429(&s, 4);
		CHECK_INT(s.g.cap, 4);
		CHECK_INT(successes_to_widen(&s), 4 * rounds);
	}

	stage_release(&s);
}

TEST(a_probe_that_holds_halves_the_rounds)
{
	struct stage s;
	stage_init(&s, 20);
	meet_429(&s, 9); /* 20 / 2 */
	(void)successes_to_widen(&s);
	meet_429(&s, 10);
	(void)successes_to_widen(&s);
	meet_429(&s, 10);
	CHECK_INT(s.g.cap, 10);
	CHECK_INT(successes_to_widen(&s), 10 * 4);

	CHECK_INT(successes_to_widen(&s), 11 * 4);
	CHECK_INT(successes_to_widen(&s), 12 * 2);
	CHECK_INT(successes_to_widen(&s), 13);
	stage_release(&s);
}

TEST(several_429_of_one_wave_are_one_failed_probe)
{
	struct stage s;
	stage_init(&s, 8);
	meet_429(&s, 4);
	(void)successes_to_widen(&s);
	enter(&s, 0, 5);

	for (unsigned i = 0; i < 3; i++)
		leave(&s, i, GOVERNOR_LIMITED, 0);
	for (unsigned i = 3; i < 5; i++)
		leave(&s, i, GOVERNOR_OTHER, 0);

	CHECK_INT(s.g.cap, 2);
	CHECK_INT(successes_to_widen(&s), 2 * 2);
	stage_release(&s);
}

TEST(a_late_429_halves_the_cap_at_most)
{
	struct stage s;
	stage_init(&s, 20);
	enter(&s, 0, 1);

	leave(&s, 0, GOVERNOR_LIMITED, 0);

	CHECK_INT(s.g.cap, 10);
	stage_release(&s);
}

TEST(a_new_upper_limit_moves_an_untouched_cap_along)
{
	struct stage s;
	stage_init(&s, 10);

	governor_set_most(&s.g, 20);
	CHECK_INT(s.g.cap, 20);
	s.g.cap = 5;
	governor_set_most(&s.g, 30);
	CHECK_INT(s.g.cap, 5);
	governor_set_most(&s.g, 2);
	CHECK_INT(s.g.cap, 2);
	enter(&s, 0, 4);
	CHECK_INT(s.g.in_flight, 2);
	governor_set_most(&s.g, 4);
	loop_run(s.loop);
	CHECK_INT(s.g.in_flight, 4);
	stage_release(&s);
}

/* Two models at one gateway: the second one neither waits for the first one's hold nor shares its narrow cap. */
TEST(a_limit_of_one_model_is_not_that_of_another)
{
	struct governor one, two;
	struct stage s;
	stage_init(&s, 4);
	governor_init_part(&one, &s.g);
	governor_init_part(&two, &s.g);
	for (unsigned i = 0; i < 6; i++)
		governor_enter(i % 2 ? &two : &one, &s.c[i].slot);
	loop_run(s.loop);
	CHECK_INT(s.granted, 4); /* of the whole */
	CHECK_INT(s.c[3].place, 4);

	governor_leave(&s.c[0].slot, GOVERNOR_LIMITED, 1000);
	governor_leave(&s.c[1].slot, GOVERNOR_OK, 0);
	CHECK_INT(one.cap, 2);
	CHECK_INT(two.cap, 4);
	for (unsigned i = 6; i < 8; i++)
		governor_enter(&two, &s.c[i].slot);
	loop_run(s.loop);
	CHECK_INT(s.c[5].place, 5); /* at once: c[4] is held, c[5] and c[6] are not */
	CHECK_INT(s.c[5].at_ms, s.c[0].at_ms);
	CHECK_INT(s.c[6].at_ms, s.c[0].at_ms);
	CHECK(!s.c[4].place && !s.c[7].place); /* the hold is over, but four are under way */
	governor_leave(&s.c[5].slot, GOVERNOR_OK, 0);
	loop_run(s.loop);
	CHECK_INT(s.c[4].place, 7);
	CHECK_INT(s.c[4].at_ms, s.c[0].at_ms + 1000);
	stage_release(&s);
}

TEST(models_take_turns_in_the_order_of_arrival)
{
	struct governor one, two;
	struct stage s;
	stage_init(&s, 1);
	governor_init_part(&one, &s.g);
	governor_init_part(&two, &s.g);
	for (unsigned i = 0; i < 6; i++)
		governor_enter(i < 2 || i > 3 ? &one : &two, &s.c[i].slot);

	for (unsigned i = 0; i < 6; i++) {
		loop_run(s.loop);
		CHECK_INT(s.c[i].place, i + 1);
		CHECK_INT(s.granted, i + 1);
		governor_leave(&s.c[i].slot, GOVERNOR_OK, 0);
	}
	stage_release(&s);
}

int test_governor(void)
{
	return RUN_TESTS(T(requests_go_in_the_order_of_arrival_up_to_the_cap), T(a_grant_never_comes_from_inside_enter),
			 T(who_leaves_while_waiting_takes_no_slot), T(a_429_narrows_the_cap_to_what_is_under_way),
			 T(the_cap_is_never_below_one), T(an_overload_lowers_the_cap_once_per_round),
			 T(an_overload_of_the_next_round_lowers_it_again), T(a_hold_is_for_everybody_and_ends),
			 T(a_hold_that_nobody_waits_for_does_not_keep_the_loop_running),
			 T(each_success_widens_the_cap_by_one_up_to_the_most),
			 T(after_a_429_a_whole_round_of_successes_widens_it_by_one),
			 T(a_probe_that_meets_a_429_doubles_the_rounds_until_the_next_one),
			 T(a_probe_that_holds_halves_the_rounds), T(several_429_of_one_wave_are_one_failed_probe),
			 T(a_late_429_halves_the_cap_at_most), T(a_new_upper_limit_moves_an_untouched_cap_along),
			 T(a_limit_of_one_model_is_not_that_of_another), T(models_take_turns_in_the_order_of_arrival));
}
