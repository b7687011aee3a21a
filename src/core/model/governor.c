/* SPDX-License-Identifier: MIT
 * governor.c - the limiter of the requests to an endpoint, and budgets. */
#include "core/model/governor.h"
#include <assert.h>
#include "core/model/catalog.h"
#include "lib/base/list.h"

enum { MOST_PATIENCE = 32 };

static void on_kick(struct kick *kick);
static void on_timer(struct timer *timer);

void governor_init(struct governor *g, struct loop *loop, unsigned most)
{
	*g = (struct governor){ .loop = loop, .cap = most, .most = most, .patience = 1 };
	g->end = &g->first;
	g->kick.step = on_kick;
	g->timer.fire = on_timer;
}

void governor_init_part(struct governor *g, struct governor *whole)
{
	governor_init(g, whole->loop, whole->most);
	g->whole = whole;
	g->next = whole->next;
	whole->next = g;
}

void governor_release(struct governor *g)
{
	assert(!g->total && !g->waiting);
	kick_cancel(&g->kick);
	timer_stop(g->loop, &g->timer);
}

void governor_set_most(struct governor *whole, unsigned most)
{
	for (struct governor *g = whole; g; g = g->next) {
		if (g->cap == g->most)
			g->cap = most;
		g->most = most;
		g->cap = MIN(g->cap, most);
	}
	loop_kick(whole->loop, &whole->kick);
}

static struct governor *whole_of(struct governor *g)
{
	return g->whole ? g->whole : g;
}

static void governor_unlink(struct governor *g, struct governor_slot *slot)
{
	list_remove_from(&g->end, slot);
	slot->waiting = false;
	g->waiting--;
	bool any = false;
	for (const struct governor *part = whole_of(g); part; part = part->next)
		any = any || part->waiting;
	if (!any) /* no request waits for the end of a hold */
		timer_stop(g->loop, &whole_of(g)->timer);
}

/* The part whose first waiter came first, of those that may send. *ret_wake_ms: when the next hold ends; 0: there is none. */
static struct governor *next_part(struct governor *whole, uint64_t now_ms, uint64_t *ret_wake_ms)
{
	struct governor *best = NULL;

	*ret_wake_ms = 0;
	for (struct governor *g = whole; g; g = g->next) {
		if (!g->first)
			continue;
		if (now_ms < g->hold_until_ms)
			*ret_wake_ms = *ret_wake_ms ? MIN(*ret_wake_ms, g->hold_until_ms) : g->hold_until_ms;
		else if (g->in_flight < g->cap && (!best || g->first->number < best->first->number))
			best = g;
	}
	return best;
}

static void governor_grant(struct governor *whole)
{
	uint64_t now = loop_now_ms(whole->loop), wake_ms;
	struct governor *g;

	while ((g = next_part(whole, now, &wake_ms)) && whole->total < whole->most) {
		struct governor_slot *slot = g->first;
		governor_unlink(g, slot);
		slot->granted = true;
		slot->granted_ms = now;
		g->in_flight++;
		whole->total++;
		slot->on_granted(slot);
	}
	if (wake_ms)
		timer_start(whole->loop, &whole->timer, wake_ms - now);
}

static void on_kick(struct kick *kick)
{
	governor_grant(CONTAINER_OF(kick, struct governor, kick));
}

static void on_timer(struct timer *timer)
{
	governor_grant(CONTAINER_OF(timer, struct governor, timer));
}

void governor_enter(struct governor *g, struct governor_slot *slot)
{
	assert(!slot->waiting && !slot->granted);
	slot->governor = g;
	slot->number = whole_of(g)->arrivals++;
	slot->next = NULL;
	slot->prev = g->end;
	*g->end = slot;
	g->end = &slot->next;
	slot->waiting = true;
	g->waiting++;
	loop_kick(g->loop, &whole_of(g)->kick);
}

void governor_leave(struct governor_slot *slot, enum governor_outcome outcome, int64_t hold_ms)
{
	struct governor *g = slot->governor;

	if (slot->waiting)
		governor_unlink(g, slot);
	if (!slot->granted)
		return;
	slot->granted = false;
	g->in_flight--;
	whole_of(g)->total--;
	switch (outcome) {
	case GOVERNOR_OK:
		if (g->limited && ++g->credit < (uint64_t)g->cap * g->patience)
			break;
		if (g->probing)
			g->patience = MAX(g->patience / 2, 1u); /* the last probe succeeded */
		g->probing = g->limited;
		g->credit = 0;
		g->cap = MIN(g->cap + 1, g->most);
		break;
	case GOVERNOR_LIMITED:
		if (g->probing)
			g->patience = MIN(g->patience * 2, (unsigned)MOST_PATIENCE);
		g->probing = false;
		g->limited = true;
		g->credit = 0;
		g->cap = MAX(MIN(g->cap, MAX(g->in_flight, g->cap / 2)), 1u);
		break;
	case GOVERNOR_OVERLOADED:
		/* A request that was sent before the cap dropped proves nothing new. */
		if (slot->granted_ms < g->round_started_ms)
			break;
		g->credit = 0;
		g->cap = MAX((unsigned)(g->cap * 0.7), 1u);
		g->round_started_ms = loop_now_ms(g->loop) + 1;
		break;
	case GOVERNOR_OTHER:
		break;
	}
	if (hold_ms > 0)
		g->hold_until_ms = MAX(g->hold_until_ms, loop_now_ms(g->loop) + (uint64_t)hold_ms);
	loop_kick(g->loop, &whole_of(g)->kick);
}

/* Reservations and spending. */

enum { FIRST_GUESS_TOKENS = 500 }; /* length of an answer before there was one */

bool budget_reserve(struct budget *b, const struct providers *at, const char *model, int64_t input_tokens,
		    struct budget_share *ret_share)
{
	struct usage guess = { .input = input_tokens,
			       .output = b->answers ? b->output_tokens / b->answers : FIRST_GUESS_TOKENS };
	struct budget_share share = { b, model_cost_usd(at, model, &guess), guess.input + guess.output };

	for (const struct budget *up = b; up; up = up->parent)
		if ((up->limit_usd > 0 && up->spent_usd + up->reserved_usd + share.usd > up->limit_usd) ||
		    (up->limit_tokens && up->spent_tokens + up->reserved_tokens + share.tokens > up->limit_tokens))
			return false;
	for (struct budget *up = b; up; up = up->parent) {
		up->reserved_usd += share.usd;
		up->reserved_tokens += share.tokens;
	}
	*ret_share = share;
	return true;
}

void budget_return(struct budget_share *share)
{
	for (struct budget *at = share->budget; at; at = at->parent) {
		at->reserved_usd -= share->usd;
		at->reserved_tokens -= share->tokens;
	}
	*share = (struct budget_share){ 0 };
}

void budget_spend(struct budget *b, double usd, const struct usage *usage)
{
	int64_t tokens = usage->input + usage->cache_read + usage->cache_write + usage->output;

	for (struct budget *at = b; at; at = at->parent) {
		at->spent_usd += usd;
		at->spent_tokens += tokens;
		at->output_tokens += usage->output;
		at->answers++;
	}
}

bool budget_used_up(const struct budget *b)
{
	for (; b; b = b->parent)
		if ((b->limit_usd > 0 && b->spent_usd >= b->limit_usd) ||
		    (b->limit_tokens && b->spent_tokens >= b->limit_tokens))
			return true;
	return false;
}
