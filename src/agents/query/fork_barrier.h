/* SPDX-License-Identifier: MIT
 * fork_barrier.h - lets the first of several forks go ahead. Their requests share a long prefix, which the server's cache
 * offers to others only once the first answer has begun; so the others wait for its first byte, or two seconds. */
#pragma once
#include "lib/io/loop.h"

struct fork_barrier {
	struct loop *loop;
	unsigned refs;
	bool led, open; /* the first request has started to answer; all may proceed */
	struct timer timer;
	struct kick **waiting; /* borrowed: kicks of the waiting queries */
	size_t count, cap;
};

struct fork_barrier *fork_barrier_new(struct loop *loop); /* returns a reference */
struct fork_barrier *fork_barrier_ref(struct fork_barrier *g);
void fork_barrier_unref(struct fork_barrier *g);
/* True: proceed. False: kick is kicked when the query should call again; fork_barrier_leave() stops waiting. */
bool fork_barrier_pass(struct fork_barrier *g, struct kick *kick);
void fork_barrier_leave(struct fork_barrier *g, struct kick *kick);
void fork_barrier_open(struct fork_barrier *g); /* the first answer began, or will not come */
