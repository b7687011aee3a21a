/* SPDX-License-Identifier: MIT
 * loop.c - the one event loop: kicks in a ring, timers in a heap, libuv under both.
 *
 * One turn: due timers, then the kicks that were queued when the turn began, then sockets and pipes. The
 * ring of kicks is closed through a head node, so that a kick can leave it without knowing the loop. */
#include "lib/io/loop.h"
#include <assert.h>
#include <poll.h>

/* A virtual clock does not begin at 0, so that "never" can be 0 in the rooms above. */
enum { VIRTUAL_START_MS = 1000, NEVER_MS = INT32_MAX };

struct loop {
	uv_loop_t uv;
	uv_idle_t idle;   /* active while a kick is queued: keeps libuv from waiting */
	uv_timer_t timer; /* runs to the first timer of the heap */
	uv_check_t check; /* counts the turns; keeps nothing alive */
	uint64_t turn;
	struct kick queue;   /* head of the ring */
	struct timer **heap; /* earliest first */
	size_t count, cap;
	uint64_t next_order;
	uint64_t virtual_ms;
	bool is_virtual, running, stopped;
};

enum { KICKS_IN_A_TURN = 32 };

static void ring_add(struct kick *head, struct kick *kick)
{
	kick->next = head;
	kick->prev = head->prev;
	*head->prev = kick;
	head->prev = &kick->next;
}

void kick_cancel(struct kick *kick)
{
	if (!kick->prev)
		return;
	*kick->prev = kick->next;
	kick->next->prev = kick->prev;
	kick->next = NULL;
	kick->prev = NULL;
}

static void on_idle(uv_idle_t *idle)
{
	struct loop *loop = idle->data;
	struct kick end = { 0 };

	/* What a step kicks is for the next turn, and of a thousand kicks most are too: sockets are looked at in between. */
	ring_add(&loop->queue, &end);
	for (unsigned i = 0; i < KICKS_IN_A_TURN && loop->queue.next != &end; i++) {
		struct kick *kick = loop->queue.next;
		kick_cancel(kick);
		kick->step(kick);
	}
	kick_cancel(&end);
	if (loop->queue.next == &loop->queue)
		uv_idle_stop(&loop->idle);
}

static void on_turn_over(uv_check_t *check)
{
	((struct loop *)check->data)->turn++;
}

uint64_t loop_turn(const struct loop *loop)
{
	return loop->turn;
}

void loop_kick(struct loop *loop, struct kick *kick)
{
	if (kick->prev)
		return;
	ring_add(&loop->queue, kick);
	uv_idle_start(&loop->idle, on_idle);
}

static bool is_before(const struct timer *a, const struct timer *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void heap_put(struct loop *loop, size_t at, struct timer *timer)
{
	loop->heap[at] = timer;
	timer->slot = at + 1;
}

static void heap_up(struct loop *loop, size_t at, struct timer *timer)
{
	for (; at > 0 && is_before(timer, loop->heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_put(loop, at, loop->heap[(at - 1) / 2]);
	heap_put(loop, at, timer);
}

static void heap_remove(struct loop *loop, struct timer *timer)
{
	size_t at = timer->slot - 1;
	struct timer *last = loop->heap[--loop->count];

	timer->slot = 0;
	if (last == timer)
		return;
	if (at > 0 && is_before(last, loop->heap[(at - 1) / 2]))
		heap_up(loop, at, last);
	else {
		for (size_t child; (child = 2 * at + 1) < loop->count; at = child) {
			if (child + 1 < loop->count && is_before(loop->heap[child + 1], loop->heap[child]))
				child++;
			if (!is_before(loop->heap[child], last))
				break;
			heap_put(loop, at, loop->heap[child]);
		}
		heap_put(loop, at, last);
	}
}

uint64_t loop_now_ms(struct loop *loop)
{
	return loop->is_virtual ? loop->virtual_ms : uv_now(&loop->uv);
}

static void on_timer(uv_timer_t *uv_timer);

/* Lets libuv wait for the first timer of the heap; a virtual clock only says that there is one. */
static void loop_arm_timer(struct loop *loop)
{
	if (!loop->count) {
		uv_timer_stop(&loop->timer);
		return;
	}
	uint64_t now = loop_now_ms(loop), due = loop->heap[0]->due_ms;
	uint64_t wait = due > now ? due - now : 0;
	uv_timer_start(&loop->timer, on_timer, loop->is_virtual ? NEVER_MS : wait, 0);
}

/* Timers that are started by a firing one wait for the next turn, even with a delay of 0. */
static void on_timer(uv_timer_t *uv_timer)
{
	struct loop *loop = uv_timer->data;
	uint64_t now = loop_now_ms(loop), limit = loop->next_order;

	while (loop->count && loop->heap[0]->due_ms <= now && loop->heap[0]->order < limit) {
		struct timer *timer = loop->heap[0];
		heap_remove(loop, timer);
		timer->fire(timer);
	}
	loop_arm_timer(loop);
}

uint64_t loop_deadline_ms(struct loop *loop, uint64_t after_ms)
{
	uint64_t now = loop_now_ms(loop);

	return after_ms < UINT64_MAX - now ? now + after_ms : UINT64_MAX;
}

void timer_start(struct loop *loop, struct timer *timer, uint64_t after_ms)
{
	bool was_first = timer->slot == 1;

	if (timer->slot)
		heap_remove(loop, timer);
	timer->due_ms = loop_deadline_ms(loop, after_ms);
	timer->order = loop->next_order++;
	loop->heap = xgrow(loop->heap, loop->count, &loop->cap, sizeof *loop->heap);
	heap_up(loop, loop->count++, timer);
	if (was_first || timer->slot == 1)
		loop_arm_timer(loop);
}

void timer_stop(struct loop *loop, struct timer *timer)
{
	bool was_first = timer->slot == 1;

	if (!timer->slot)
		return;
	heap_remove(loop, timer);
	if (was_first)
		loop_arm_timer(loop);
}

struct loop *loop_new(unsigned flags)
{
	struct loop *loop = xcalloc(1, sizeof *loop);

	if (uv_loop_init(&loop->uv) < 0)
		base_oom(sizeof loop->uv);
	loop->uv.data = loop;
	uv_idle_init(&loop->uv, &loop->idle);
	uv_timer_init(&loop->uv, &loop->timer);
	uv_check_init(&loop->uv, &loop->check);
	uv_check_start(&loop->check, on_turn_over);
	uv_unref((uv_handle_t *)&loop->check);
	loop->idle.data = loop;
	loop->timer.data = loop;
	loop->check.data = loop;
	loop->turn = 1;
	loop->queue.next = &loop->queue;
	loop->queue.prev = &loop->queue.next;
	loop->is_virtual = flags & LOOP_VIRTUAL_CLOCK;
	loop->virtual_ms = VIRTUAL_START_MS;
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (!(loop->queue.next == &loop->queue))
		kick_cancel(loop->queue.next);
	while (loop->count)
		heap_remove(loop, loop->heap[0]);
	uv_close((uv_handle_t *)&loop->idle, NULL);
	uv_close((uv_handle_t *)&loop->timer, NULL);
	uv_close((uv_handle_t *)&loop->check, NULL);
	uv_run(&loop->uv, UV_RUN_NOWAIT); /* finishes what is closing, ours and the owner's */
	int left = uv_loop_close(&loop->uv);
	assert(left == 0);
	(void)left;
	free(loop->heap);
	free(loop);
}

uv_loop_t *loop_uv(struct loop *loop)
{
	return &loop->uv;
}

void loop_free_handle(uv_handle_t *handle)
{
	free(handle);
}

/* Requests (work on the thread pool) are our own doing and end by themselves, so they are waited for before
 * time moves. Handles wait for others, which may be exactly what a timer is there to limit. */
static void run_virtual(struct loop *loop)
{
	struct pollfd backend = { .fd = uv_backend_fd(&loop->uv), .events = POLLIN };

	while (!loop->stopped && uv_run(&loop->uv, UV_RUN_NOWAIT)) {
		/* Time moves only if nothing else can happen: libuv would wait, and no descriptor is ready. */
		if (loop->stopped || uv_backend_timeout(&loop->uv) == 0 || poll(&backend, 1, 0) != 0)
			continue;
		if (!loop->count || loop->uv.active_reqs.count > 0) {
			uv_run(&loop->uv, UV_RUN_ONCE);
			continue;
		}
		loop->virtual_ms = MAX(loop->virtual_ms, loop->heap[0]->due_ms);
		on_timer(&loop->timer);
	}
}

void loop_run(struct loop *loop)
{
	assert(!loop->running);
	loop->running = true;
	if (loop->is_virtual)
		run_virtual(loop);
	else
		uv_run(&loop->uv, UV_RUN_DEFAULT);
	loop->running = false;
	loop->stopped = false;
}

bool loop_is_running(const struct loop *loop)
{
	return loop->running;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
	if (!loop->is_virtual)
		uv_stop(&loop->uv);
}
