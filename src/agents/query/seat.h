/* SPDX-License-Identifier: MIT
 * seat.h - how many agents may be at work at a time. Over the cap an agent waits; it is never refused.
 *
 * An agent takes a seat before it begins and gives it back when it is over. One that only waits for other agents gives its
 * seat back meanwhile and takes it again before any new agent gets one, so that trees of any depth come to their end with
 * a cap of one. */
#pragma once
#include "lib/io/loop.h"

enum seat_rank { SEAT_AGAIN, SEAT_NEW, SEAT_RANKS }; /* AGAIN goes before NEW */

struct seat {
	void (*on_taken)(struct seat *seat); /* from the loop: record and kick */
	struct seat *next, **prev;           /* in the queue while waiting */
	enum seat_rank rank;
	bool waiting, taken;
};

struct seats {
	struct loop *loop; /* borrowed */
	unsigned cap, taken, waiting;
	struct seat_queue {
		struct seat *first, **end;
	} queues[SEAT_RANKS];
	struct kick kick;
};

void seats_init(struct seats *s, struct loop *loop, unsigned cap);
void seats_release(struct seats *s);                                     /* nobody may have one or wait */
void seat_wait(struct seats *s, struct seat *seat, enum seat_rank rank); /* on_taken comes later */
void seat_leave(struct seats *s, struct seat *seat);                     /* taken, waiting or neither */
