/* SPDX-License-Identifier: MIT
 * fork_barrier.h - lets the first of several forks go ahead. Their requests share a long prefix, which the server's cache
 * offers to others only once the first answer has begun; so the others wait for its first byte, or two seconds. */
#pragma once
#include "lib/io/loop.h"

struct fork_gate {
	struct loop *loop;
	unsigned refs;
	bool led, open; /* the first request has started to answer; all may proceed */
	struct timer timer;
	struct kick **waiting; /* borrowed: kicks of the waiting queries */
	size_t count, cap;
};

struct fork_gate *fork_gate_new(struct loop *loop); /* returns a reference */
struct fork_gate *fork_gate_ref(struct fork_gate *g);
void fork_gate_unref(struct fork_gate *g);
/* True: proceed. False: kick is kicked when the query should call again; fork_gate_leave() stops waiting. */
bool fork_gate_pass(struct fork_gate *g, struct kick *kick);
void fork_gate_leave(struct fork_gate *g, struct kick *kick);
void fork_gate_open(struct fork_gate *g); /* the first answer began, or will not come */
