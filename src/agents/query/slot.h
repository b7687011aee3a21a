/* SPDX-License-Identifier: MIT
 * slot.h - limits concurrent agents. Above the cap an agent waits; it is never refused.
 *
 * An agent takes a slot before it starts and releases it at its end. An agent that only waits for subagents releases
 * its slot and has priority over new agents when it needs one again, so that trees of any depth finish with a cap of
 * one. */
#pragma once
#include "lib/io/loop.h"

enum slot_rank { SLOT_AGAIN, SLOT_NEW, SLOT_RANKS }; /* AGAIN goes before NEW */

struct agent_slot {
	void (*on_taken)(struct agent_slot *slot); /* from the loop: record and kick */
	struct agent_slot *next, **prev;           /* in the queue while waiting */
	enum slot_rank rank;
	bool waiting, taken;
};

struct slot_pool {
	struct loop *loop; /* borrowed */
	unsigned cap, taken, waiting;
	struct slot_queue {
		struct agent_slot *first, **end;
	} queues[SLOT_RANKS];
	struct kick kick;
};

void slot_pool_init(struct slot_pool *s, struct loop *loop, unsigned cap);
static inline void slot_pool_set_cap(struct slot_pool *s, unsigned cap) /* starts agents that wait; stops none */
{
	s->cap = cap;
	if (s->waiting)
		loop_kick(s->loop, &s->kick);
}
void slot_wait(struct slot_pool *s, struct agent_slot *slot, enum slot_rank rank); /* on_taken comes later */
void slot_leave(struct slot_pool *s, struct agent_slot *slot);                     /* taken, waiting or neither */

/* Lets the first of several forks go ahead. Their requests share a long prefix, which the server's cache
 * offers to others only once the first answer has begun; so the others wait for its first byte, or two seconds. */
struct fork_barrier {
	struct loop *loop;
	unsigned refs;
	bool led, open; /* the first request has started to answer; all may proceed */
	struct timer timer;
	struct kick **waiting; /* borrowed: kicks of the waiting queries */
	size_t count, cap;
};

struct fork_barrier *fork_barrier_new(struct loop *loop); /* returns a reference */
static inline struct fork_barrier *fork_barrier_ref(struct fork_barrier *g)
{
	g->refs++;
	return g;
}
void fork_barrier_unref(struct fork_barrier *g);
/* True: proceed. False: kick is kicked when the query should call again; fork_barrier_leave() stops waiting. */
bool fork_barrier_pass(struct fork_barrier *g, struct kick *kick);
void fork_barrier_leave(struct fork_barrier *g, struct kick *kick);
void fork_barrier_open(struct fork_barrier *g); /* the first answer began, or will not come */
