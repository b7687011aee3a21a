/* SPDX-License-Identifier: MIT
 * seat.c - how many agents may be at work at a time. */
#include "agents/query/seat.h"
#include <assert.h>

static void unlink_seat(struct seats *s, struct seat *seat)
{
	*seat->prev = seat->next;
	if (seat->next)
		seat->next->prev = seat->prev;
	else
		s->queues[seat->rank].end = seat->prev;
	seat->waiting = false;
	s->waiting--;
}

static void on_kick(struct kick *kick)
{
	struct seats *s = CONTAINER_OF(kick, struct seats, kick);

	while (s->waiting && s->taken < s->cap) {
		enum seat_rank rank = s->queues[SEAT_AGAIN].first ? SEAT_AGAIN : SEAT_NEW;
		struct seat *seat = s->queues[rank].first;
		unlink_seat(s, seat);
		seat->taken = true;
		s->taken++;
		seat->on_taken(seat);
	}
}

void seats_init(struct seats *s, struct loop *loop, unsigned cap)
{
	*s = (struct seats){ .loop = loop, .cap = cap };
	for (size_t i = 0; i < SEAT_RANKS; i++)
		s->queues[i].end = &s->queues[i].first;
	s->kick.step = on_kick;
}

void seats_release(struct seats *s)
{
	assert(!s->taken && !s->waiting);
	kick_cancel(&s->kick);
}

void seat_wait(struct seats *s, struct seat *seat, enum seat_rank rank)
{
	struct seat_queue *queue = &s->queues[rank];

	assert(!seat->waiting && !seat->taken);
	seat->next = NULL;
	seat->prev = queue->end;
	seat->rank = rank;
	seat->waiting = true;
	*queue->end = seat;
	queue->end = &seat->next;
	s->waiting++;
	loop_kick(s->loop, &s->kick);
}

void seat_leave(struct seats *s, struct seat *seat)
{
	if (seat->waiting)
		unlink_seat(s, seat);
	if (!seat->taken)
		return;
	seat->taken = false;
	s->taken--;
	loop_kick(s->loop, &s->kick);
}
