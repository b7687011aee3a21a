/* SPDX-License-Identifier: MIT
 * loop.h - the one event loop, its clock, timers and kicks. A thin layer over libuv, so that unit tests can run on a
 * virtual clock: it stands still while anything is ready and jumps to the next timer otherwise.
 *
 * Kicks: a callback records a fact and calls loop_kick(loop, &x->kick), any number of times; kick->step runs once, on
 * the next loop turn, never nested in another step. An object that is freed calls kick_cancel(). Kicks are a linked
 * list inside the loop, not libuv handles: ten thousand agents cost ten thousand list nodes and one idle handle. The
 * same holds for timers (one uv timer under a heap), so neither needs closing. */
#pragma once
#include "lib/base/base.h" /* before uv.h, which brings MIN and MAX of its own */
#include <uv.h>

struct loop;

struct kick {
	void (*step)(struct kick *kick); /* set by the owner before the first kick() */
	struct kick *next, **prev;       /* in the queue, or prev == NULL */
};

struct timer {
	void (*fire)(struct timer *timer);
	uint64_t due_ms;
	uint64_t order; /* timers of the same time fire in the order of starting */
	size_t slot;    /* heap place + 1; 0 = not running */
};

enum loop_flags { LOOP_VIRTUAL_CLOCK = 1 << 0 };

struct loop *loop_new(unsigned flags); /* returns owned */
void loop_free(struct loop *loop);     /* all handles must be closed; asserted */
uv_loop_t *loop_uv(struct loop *loop);
void loop_free_handle(uv_handle_t *handle); /* for uv_close: frees the object whose first member the handle is */
uint64_t loop_now_ms(struct loop *loop);    /* monotonic; of the last loop turn */
uint64_t loop_deadline_ms(struct loop *loop, uint64_t after_ms); /* never wraps */
uint64_t loop_turn(const struct loop *loop); /* number of the turn that runs, or of the next one; from 1 */
void loop_kick(struct loop *loop, struct kick *kick);
void kick_cancel(struct kick *kick);                                         /* also when not queued */
void timer_start(struct loop *loop, struct timer *timer, uint64_t after_ms); /* restarts a running one */
void timer_stop(struct loop *loop, struct timer *timer);                     /* also when not running */
static inline bool timer_running(const struct timer *timer)
{
	return timer->slot != 0;
}

/* Runs until loop_stop() or until there is no kick, timer or active libuv handle. */
void loop_run(struct loop *loop); /* not reentrant; asserted */
bool loop_is_running(const struct loop *loop);
void loop_stop(struct loop *loop);
