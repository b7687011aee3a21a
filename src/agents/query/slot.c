/* SPDX-License-Identifier: MIT
 * slot.c - the queues of the slot pool. */
#include "agents/query/slot.h"
#include <assert.h>
#include "lib/base/list.h"

static void slot_unlink(struct slot_pool *s, struct agent_slot *slot)
{
	list_remove_from(&s->queues[slot->rank].end, slot);
	slot->waiting = false;
	s->waiting--;
}

static void on_kick(struct kick *kick)
{
	struct slot_pool *s = CONTAINER_OF(kick, struct slot_pool, kick);

	while (s->waiting && s->taken < s->cap) {
		enum slot_rank rank = s->queues[SLOT_AGAIN].first ? SLOT_AGAIN : SLOT_NEW;
		struct agent_slot *slot = s->queues[rank].first;
		slot_unlink(s, slot);
		slot->taken = true;
		s->taken++;
		slot->on_taken(slot);
	}
}

void slot_pool_init(struct slot_pool *s, struct loop *loop, unsigned cap)
{
	*s = (struct slot_pool){ .loop = loop, .cap = cap };
	for (size_t i = 0; i < SLOT_RANKS; i++)
		s->queues[i].end = &s->queues[i].first;
	s->kick.step = on_kick;
}

void slot_wait(struct slot_pool *s, struct agent_slot *slot, enum slot_rank rank)
{
	struct slot_queue *queue = &s->queues[rank];

	assert(!slot->waiting && !slot->taken);
	slot->rank = rank;
	slot->waiting = true;
	list_append(&queue->end, slot);
	s->waiting++;
	loop_kick(s->loop, &s->kick);
}

void slot_leave(struct slot_pool *s, struct agent_slot *slot)
{
	if (slot->waiting)
		slot_unlink(s, slot);
	if (!slot->taken)
		return;
	slot->taken = false;
	s->taken--;
	loop_kick(s->loop, &s->kick);
}

/* The first fork passes, the others wait. */

enum { LONGEST_WAIT_MS = 2000 };

static void on_timer(struct timer *timer)
{
	fork_barrier_open(CONTAINER_OF(timer, struct fork_barrier, timer));
}

struct fork_barrier *fork_barrier_new(struct loop *loop)
{
	struct fork_barrier *g = xnew(struct fork_barrier, .loop = loop, .refs = 1, .timer.fire = on_timer);

	return g;
}

void fork_barrier_unref(struct fork_barrier *g)
{
	if (!g || --g->refs)
		return;
	timer_stop(g->loop, &g->timer);
	free(g->waiting);
	free(g);
}

bool fork_barrier_pass(struct fork_barrier *g, struct kick *kick)
{
	if (g->open)
		return true;
	if (!g->led) {
		g->led = true;
		timer_start(g->loop, &g->timer, LONGEST_WAIT_MS);
		return true;
	}
	*xpush(g->waiting, g->count, g->cap) = kick;
	return false;
}

/* A waiting query that was kicked for another reason has called again, and is listed more than once. */
void fork_barrier_leave(struct fork_barrier *g, struct kick *kick)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->count; i++)
		if (g->waiting[i] != kick)
			g->waiting[kept++] = g->waiting[i];
	g->count = kept;
}

void fork_barrier_open(struct fork_barrier *g)
{
	timer_stop(g->loop, &g->timer);
	g->open = true;
	for (size_t i = 0; i < g->count; i++)
		loop_kick(g->loop, g->waiting[i]);
	g->count = 0;
}
