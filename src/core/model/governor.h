/* SPDX-License-Identifier: MIT
 * governor.h - a concurrency limiter for the requests to an endpoint. Above the cap a request waits; it is never
 * refused. Each model has a part of its own: what a server says of one does not narrow the others. The number of concurrent
 * requests and the order of arrival are those of the whole.
 *
 * The cap starts wide. A 429 lowers it to the number of requests still running, which is what the server accepted (but
 * at most by half: a straggler proves little); a 529 or other 5xx multiplies it by 0.7, at most once per round trip. A
 * success raises it by one. After the first 429 only a whole round of successes does, so that a server at its capacity
 * is probed once per round. A probe that ends in a 429 delays all requests by its retry-after, so it doubles the rounds
 * until the next probe; a successful one halves them. A retry-after, or an exhausted limit reported by the server,
 * delays all requests of the part. Waiters are served in order of arrival. */
#pragma once
#include "lib/io/loop.h"
#include "core/message/message.h"

struct providers;

struct governor_slot {
	void (*on_granted)(struct governor_slot *slot); /* from the loop: record and kick */
	struct governor *governor;                      /* that it entered last; NULL: none */
	struct governor_slot *next, **prev;             /* in the queue while waiting */
	uint64_t number;                                /* in the order of arrival */
	uint64_t granted_ms;
	bool waiting, granted;
};

struct governor {
	struct loop *loop;      /* borrowed */
	struct governor *whole; /* NULL: it is the whole itself */
	struct governor *next;  /* part of the same whole; NULL: the last one */
	unsigned cap, most;     /* current; maximum */
	unsigned in_flight, waiting;
	struct governor_slot *first, **end;
	uint64_t hold_until_ms;    /* no new request before this time */
	uint64_t round_started_ms; /* time of the last drop to 0.7: requests granted before it do not drop again */
	unsigned credit;           /* successes since the last raise */
	unsigned patience;         /* rounds of successes per raise, once limited */
	bool limited;              /* a 429 was seen */
	bool probing;              /* the cap was raised since, without a 429 */
	/* Of the whole */
	unsigned total; /* requests of all parts */
	uint64_t arrivals;
	struct kick kick;
	struct timer timer;
};

enum governor_outcome { GOVERNOR_OK, GOVERNOR_LIMITED /* 429 */, GOVERNOR_OVERLOADED /* 529, 5xx */, GOVERNOR_OTHER };

void governor_init(struct governor *g, struct loop *loop, unsigned most);
void governor_init_part(struct governor *g, struct governor *whole); /* both are released together */
void governor_release(struct governor *g);                           /* of the whole: no part may be used any more */
void governor_set_most(struct governor *g, unsigned most); /* of the whole; also sets a cap that was never changed */
void governor_enter(struct governor *g, struct governor_slot *slot); /* on_granted comes later */
/* Releases a granted or waiting slot. hold_ms: delays all requests of its governor by this time; 0: no delay. */
void governor_leave(struct governor_slot *slot, enum governor_outcome outcome, int64_t hold_ms);

/* Spending limits in money and tokens. A budget may have a parent: reservations and spending count in both.
 * 
 * Each request reserves its expected cost (its input and an answer of average length), so that concurrent requests
 * cannot all pass below the cap. The reservation is released when the request ends; budget_spend() records the real
 * cost. */
struct budget {
	struct budget *parent; /* borrowed; NULL: none */
	double limit_usd;      /* 0: no limit */
	int64_t limit_tokens;  /* input and output together, cached ones too; 0: no limit */
	double spent_usd, reserved_usd;
	int64_t spent_tokens, reserved_tokens;
	int64_t output_tokens, answers; /* for the average */
};

struct budget_share {
	struct budget *budget; /* NULL: nothing is reserved */
	double usd;
	int64_t tokens;
};

/* False: a limit would be exceeded, nothing is reserved. Always succeeds without a limit. */
bool budget_reserve(struct budget *b, const struct providers *at, const char *model, int64_t input_tokens,
		    struct budget_share *ret_share);
void budget_return(struct budget_share *share); /* also when empty */
void budget_spend(struct budget *b, double usd, const struct usage *usage);
bool budget_used_up(const struct budget *b); /* of it or its ancestors */
