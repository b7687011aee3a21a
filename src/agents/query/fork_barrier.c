/* SPDX-License-Identifier: MIT
 * fork_barrier.c - the first fork passes, the others wait. */
#include "agents/query/slot.h"

enum { LONGEST_WAIT_MS = 2000 };

static void on_timer(struct timer *timer)
{
	fork_barrier_open(CONTAINER_OF(timer, struct fork_barrier, timer));
}

struct fork_barrier *fork_barrier_new(struct loop *loop)
{
	struct fork_barrier *g = xcalloc(1, sizeof *g);

	g->loop = loop;
	g->refs = 1;
	g->timer.fire = on_timer;
	return g;
}

struct fork_barrier *fork_barrier_ref(struct fork_barrier *g)
{
	g->refs++;
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
	g->waiting = xgrow(g->waiting, g->count, &g->cap, sizeof *g->waiting);
	g->waiting[g->count++] = kick;
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
