/* SPDX-License-Identifier: MIT
 * governor.h - one limiter for all requests to an endpoint. Over the cap a request waits; it is never refused.
 *
 * The cap starts wide. A 429 lowers it to the number of requests that are still under way, which is what the server
 * accepted of the wave (but never by more than half: a straggler says little); a 529 or other 5xx to 0.7 of itself, at most
 * once per round trip. A success widens it by one; once a 429 was seen, a whole round of successes does, so that a server at
 * its capacity is probed once per round and not with every second request. Each such probe that ends in a 429 holds everybody
 * for its retry-after, so it doubles the rounds until the next one; each that holds halves them. A retry-after, or a limit
 * that the server says is used up, holds for everybody at once. Waiters go in the order of arrival. */
#pragma once
#include "lib/io/loop.h"

struct governor_slot {
	void (*on_granted)(struct governor_slot *slot); /* from the loop: record and kick */
	struct governor_slot *next, **prev;             /* in the queue while waiting */
	uint64_t granted_ms;
	bool waiting, granted;
};

struct governor {
	struct loop *loop;  /* borrowed */
	unsigned cap, most; /* now; never above */
	unsigned in_flight, waiting;
	struct governor_slot *first, **end;
	uint64_t hold_until_ms;    /* nothing new before */
	uint64_t round_started_ms; /* of the last drop by 0.7: requests granted before it do not drop again */
	unsigned credit;           /* successes since the cap was widened */
	unsigned patience;         /* rounds of successes that widen it, once limited */
	bool limited;              /* a 429 was seen */
	bool probing;              /* since then the cap was widened, and no 429 has come of it */
	struct kick kick;
	struct timer timer;
};

enum governor_outcome { GOVERNOR_OK, GOVERNOR_LIMITED /* 429 */, GOVERNOR_OVERLOADED /* 529, 5xx */, GOVERNOR_OTHER };

void governor_init(struct governor *g, struct loop *loop, unsigned most);
void governor_release(struct governor *g);
void governor_set_most(struct governor *g, unsigned most);           /* an untouched cap moves along */
void governor_enter(struct governor *g, struct governor_slot *slot); /* on_granted comes later */
/* Gives a granted or waiting slot back. hold_ms: nobody sends before that time has passed; 0: no hold. */
void governor_leave(struct governor *g, struct governor_slot *slot, enum governor_outcome outcome, int64_t hold_ms);
