/* SPDX-License-Identifier: MIT
 * test_loop.c - kicks, timers, the virtual clock. */
#include "test_io.h"
#include <fcntl.h>
#include "unit.h"
#include "lib/io/loop.h"

/* One object of a test: writes its letter into the shared trail when it is stepped or fired. */
struct agent {
	struct kick kick;
	struct timer timer;
	struct loop *loop;
	struct buf *trail;
	char letter;
	struct agent *kicks;   /* kicked by its step */
	struct agent *cancels; /* cancelled or stopped by its step or timer */
	unsigned again;        /* how often the step kicks, or the timer starts, itself */
	bool stops;
};

static void on_step(struct kick *kick)
{
	struct agent *a = CONTAINER_OF(kick, struct agent, kick);

	buf_addch(a->trail, a->letter);
	if (a->kicks)
		loop_kick(a->loop, &a->kicks->kick);
	if (a->cancels)
		kick_cancel(&a->cancels->kick);
	if (a->again && a->again--)
		loop_kick(a->loop, &a->kick);
	if (a->stops)
		loop_stop(a->loop);
}

static void on_fire(struct timer *timer)
{
	struct agent *a = CONTAINER_OF(timer, struct agent, timer);

	buf_addf(a->trail, "%c%d ", a->letter, (int)loop_now_ms(a->loop) - 1000);
	if (a->kicks)
		loop_kick(a->loop, &a->kicks->kick);
	if (a->cancels)
		timer_stop(a->loop, &a->cancels->timer);
	if (a->again && a->again--)
		timer_start(a->loop, &a->timer, 0);
}

struct stage {
	struct loop *loop;
	struct buf trail;
	struct agent agents[4]; /* a, b, c, d */
};

static void stage_init(struct stage *st, unsigned flags)
{
	*st = (struct stage){ .loop = loop_new(flags) };
	for (size_t i = 0; i < COUNT_OF(st->agents); i++)
		st->agents[i] = (struct agent){ .kick.step = on_step,
						.timer.fire = on_fire,
						.loop = st->loop,
						.trail = &st->trail,
						.letter = (char)('a' + i) };
}

static void stage_release(struct stage *st)
{
	loop_free(st->loop);
	buf_release(&st->trail);
}

TEST(a_kick_steps_once_however_often_it_was_kicked)
{
	struct stage st;
	stage_init(&st, 0);
	struct agent *a = &st.agents[0], *b = &st.agents[1];

	loop_kick(st.loop, &a->kick);
	loop_kick(st.loop, &b->kick);
	loop_kick(st.loop, &a->kick);
	CHECK_STR(buf_str(&st.trail), "");
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "ab");
	stage_release(&st);
}

TEST(a_kick_from_a_step_runs_on_the_next_turn)
{
	struct stage st;
	stage_init(&st, 0);
	struct agent *a = &st.agents[0], *b = &st.agents[1], *c = &st.agents[2];
	a->kicks = c;
	a->again = 2;

	loop_kick(st.loop, &a->kick);
	loop_kick(st.loop, &b->kick);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "abcacac");
	stage_release(&st);
}

TEST(a_cancelled_kick_does_not_step_even_when_cancelled_in_the_same_turn)
{
	struct stage st;
	stage_init(&st, 0);
	struct agent *a = &st.agents[0], *b = &st.agents[1], *c = &st.agents[2], *d = &st.agents[3];
	a->cancels = c;

	for (size_t i = 0; i < COUNT_OF(st.agents); i++)
		loop_kick(st.loop, &st.agents[i].kick);
	kick_cancel(&d->kick);
	kick_cancel(&d->kick);
	loop_run(st.loop);
	CHECK_STR(buf_str(&st.trail), "ab");
	loop_kick(st.loop, &c->kick);
	loop_kick(st.loop, &b->kick);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "abcb");
	stage_release(&st);
}

TEST(a_stopped_loop_returns_and_can_be_run_again)
{
	static const unsigned flags[] = { 0, LOOP_VIRTUAL_CLOCK };

	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		struct stage st;
		stage_init(&st, flags[i]);
		struct agent *a = &st.agents[0], *b = &st.agents[1];
		a->stops = true;
		a->kicks = b;

		loop_kick(st.loop, &a->kick);
		loop_run(st.loop);
		CHECK_STR(buf_str(&st.trail), "a");
		loop_run(st.loop);

		CHECK_STR(buf_str(&st.trail), "ab");
		stage_release(&st);
	}
}

TEST(timers_fire_in_order_of_time_then_of_starting)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	struct agent *a = &st.agents[0], *b = &st.agents[1], *c = &st.agents[2], *d = &st.agents[3];

	timer_start(st.loop, &d->timer, 50);
	timer_start(st.loop, &c->timer, 7);
	timer_start(st.loop, &b->timer, 50);
	timer_start(st.loop, &a->timer, 3600000);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "c7 d50 b50 a3600000 ");
	CHECK(!timer_running(&a->timer));
	stage_release(&st);
}

TEST(a_timer_can_be_restarted_and_stopped)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	struct agent *a = &st.agents[0], *b = &st.agents[1], *c = &st.agents[2], *d = &st.agents[3];
	b->cancels = c;

	timer_start(st.loop, &a->timer, 10);
	timer_start(st.loop, &b->timer, 20);
	timer_start(st.loop, &c->timer, 30);
	timer_start(st.loop, &d->timer, 5);
	timer_start(st.loop, &a->timer, 40);
	timer_stop(st.loop, &d->timer);
	timer_stop(st.loop, &d->timer);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "b20 a40 ");
	stage_release(&st);
}

TEST(a_timer_of_no_delay_waits_for_the_next_turn_and_lets_kicks_in)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	struct agent *a = &st.agents[0], *b = &st.agents[1];
	a->again = 2;
	a->kicks = b;

	timer_start(st.loop, &a->timer, 1);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "a1 ba1 ba1 b");
	stage_release(&st);
}

static void on_fire_exactly(struct timer *timer)
{
	struct agent *a = CONTAINER_OF(timer, struct agent, timer);

	CHECK_INT(loop_now_ms(a->loop), timer->due_ms);
	a->again++;
}

TEST(many_timers_fire_at_their_time_whatever_was_stopped_between)
{
	enum { COUNT = 500 };
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);
	struct agent *agents = xcalloc(COUNT, sizeof *agents);
	uint32_t random = 1;

	for (size_t i = 0; i < COUNT; i++) {
		random = random * 1664525 + 1013904223;
		agents[i] = (struct agent){ .timer.fire = on_fire_exactly, .loop = loop };
		timer_start(loop, &agents[i].timer, random >> 16);
	}
	for (size_t i = 0; i < COUNT; i += 3)
		timer_stop(loop, &agents[i].timer);
	loop_run(loop);

	for (size_t i = 0; i < COUNT; i++)
		CHECK_INT(agents[i].again, i % 3 ? 1 : 0);
	free(agents);
	loop_free(loop);
}

TEST(real_timers_fire_by_the_clock_and_end_the_loop)
{
	struct stage st;
	stage_init(&st, 0);
	uint64_t before = loop_now_ms(st.loop);

	timer_start(st.loop, &st.agents[0].timer, 3);
	timer_start(st.loop, &st.agents[1].timer, 3600000);
	timer_start(st.loop, &st.agents[2].timer, 1);
	timer_stop(st.loop, &st.agents[1].timer);
	loop_run(st.loop);

	CHECK(loop_now_ms(st.loop) >= before + 3);
	CHECK_INT(st.trail.p[0], 'c');
	CHECK(strchr(st.trail.p, 'a') && !strchr(st.trail.p, 'b'));
	stage_release(&st);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct agent *a = poll->data;
	char byte;

	CHECK_INT(read(poll->io_watcher.fd, &byte, 1), 1);
	buf_addf(a->trail, "%c%d ", byte, (int)loop_now_ms(a->loop) - 1000);
}

struct crowd {
	struct kick kicks[1000];
	unsigned stepped, stepped_when_ready;
};

static struct crowd *crowd; /* of the one test that has one */

static void on_crowd_kick(struct kick *kick)
{
	(void)kick;
	crowd->stepped++;
}

static void on_crowd_ready(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	crowd->stepped_when_ready = crowd->stepped;
	uv_close((uv_handle_t *)poll, NULL);
}

TEST(sockets_are_looked_at_between_many_kicks)
{
	struct stage st;
	uv_poll_t poll;
	int ends[2];
	stage_init(&st, 0);
	crowd = xcalloc(1, sizeof *crowd);
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "x", 1), 1);
	uv_poll_init(loop_uv(st.loop), &poll, ends[0]);
	uv_poll_start(&poll, UV_READABLE, on_crowd_ready);
	for (size_t i = 0; i < COUNT_OF(crowd->kicks); i++) {
		crowd->kicks[i].step = on_crowd_kick;
		loop_kick(st.loop, &crowd->kicks[i]);
	}

	loop_run(st.loop);

	CHECK_INT(crowd->stepped, COUNT_OF(crowd->kicks));
	CHECK(crowd->stepped_when_ready > 0 && crowd->stepped_when_ready <= 100);
	close(ends[0]);
	close(ends[1]);
	free(crowd);
	stage_release(&st);
}

TEST(virtual_time_stands_still_while_a_descriptor_is_ready)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	int fds[2];
	uv_poll_t poll;
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK_INT(write(fds[1], "xyz", 3), 3);
	uv_poll_init(loop_uv(st.loop), &poll, fds[0]);
	poll.data = &st.agents[0];
	uv_poll_start(&poll, UV_READABLE, on_readable);
	uv_unref((uv_handle_t *)&poll);

	timer_start(st.loop, &st.agents[1].timer, 0);
	timer_start(st.loop, &st.agents[2].timer, 60000);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "x0 y0 z0 b0 c60000 ");
	uv_close((uv_handle_t *)&poll, NULL);
	loop_run(st.loop);
	close(fds[0]);
	close(fds[1]);
	stage_release(&st);
}

/* Work that ends only after the kick has stepped. */
struct worker {
	uv_work_t work;
	struct kick kick;
	struct stage *stage;
	int fds[2];
};

static void on_work(uv_work_t *work)
{
	struct worker *w = CONTAINER_OF(work, struct worker, work);
	char byte;

	if (read(w->fds[0], &byte, 1) != 1)
		abort();
}

static void on_worked(uv_work_t *work, int status)
{
	struct stage *st = CONTAINER_OF(work, struct worker, work)->stage;

	buf_addf(&st->trail, "w%d ", (int)loop_now_ms(st->loop) - 1000);
}

static void on_release(struct kick *kick)
{
	CHECK_INT(write(CONTAINER_OF(kick, struct worker, kick)->fds[1], "x", 1), 1);
}

TEST(virtual_time_waits_for_work_on_the_thread_pool)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	struct worker w = { .kick.step = on_release, .stage = &st };
	CHECK_INT(pipe2(w.fds, O_CLOEXEC), 0);

	timer_start(st.loop, &st.agents[0].timer, 60000);
	loop_kick(st.loop, &w.kick);
	uv_queue_work(loop_uv(st.loop), &w.work, on_work, on_worked);
	loop_run(st.loop);

	CHECK_STR(buf_str(&st.trail), "w0 a60000 ");
	close(w.fds[0]);
	close(w.fds[1]);
	stage_release(&st);
}

TEST(a_freed_loop_lets_go_of_kicks_and_timers)
{
	struct stage st;
	stage_init(&st, 0);
	struct agent *a = &st.agents[0];

	loop_kick(st.loop, &a->kick);
	timer_start(st.loop, &a->timer, 5);
	stage_release(&st);

	CHECK(!a->kick.prev);
	CHECK(!timer_running(&a->timer));
	kick_cancel(&a->kick);
}

int test_loop(void)
{
	return RUN_TESTS(T(sockets_are_looked_at_between_many_kicks), T(a_kick_steps_once_however_often_it_was_kicked),
			 T(a_kick_from_a_step_runs_on_the_next_turn),
			 T(a_cancelled_kick_does_not_step_even_when_cancelled_in_the_same_turn),
			 T(a_stopped_loop_returns_and_can_be_run_again),
			 T(timers_fire_in_order_of_time_then_of_starting), T(a_timer_can_be_restarted_and_stopped),
			 T(a_timer_of_no_delay_waits_for_the_next_turn_and_lets_kicks_in),
			 T(many_timers_fire_at_their_time_whatever_was_stopped_between),
			 T(real_timers_fire_by_the_clock_and_end_the_loop),
			 T(virtual_time_stands_still_while_a_descriptor_is_ready),
			 T(virtual_time_waits_for_work_on_the_thread_pool),
			 T(a_freed_loop_lets_go_of_kicks_and_timers));
}
