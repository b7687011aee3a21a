/* SPDX-License-Identifier: MIT
 * change_queue.c - changes of files that wait for a lock in a worker thread, one at a time. */
#include "lib/io/change_queue.h"

enum { WORKER_WAIT_MS = 10000 };

static void change_queue_step(struct change_queue *q);

static void on_change_thread(uv_work_t *work)
{
	struct change_queue *q = CONTAINER_OF(work, struct change_queue, work);

	q->status = q->first->make(q->first, WORKER_WAIT_MS, &q->err);
}

static void on_change_made(uv_work_t *work, int status)
{
	struct change_queue *q = CONTAINER_OF(work, struct change_queue, work);
	struct file_change *change = q->first;

	(void)status; /* it is not cancelled */
	q->first = change->next;
	if (!q->first)
		q->last = &q->first;
	q->at_work = false;
	change->done(change, true, &q->err);
	change_queue_step(q);
}

static void change_queue_step(struct change_queue *q)
{
	if (q->at_work || !q->first)
		return;
	q->at_work = true;
	q->err = (struct err){ 0 };
	(void)uv_queue_work(loop_uv(q->loop), &q->work, on_change_thread,
			    on_change_made); /* fails without a function only */
}

int change_queue_make(struct change_queue *q, struct file_change *change, struct err *err)
{
	struct err why = { 0 };

	change->next = NULL;
	if (!q->first) {
		int status = change->make(change, 0, &why);
		if (status != -ERR_BUSY) {
			if (status < 0 && err)
				*err = why;
			change->done(change, false, &why);
			return status;
		}
		q->last = &q->first;
	}
	*q->last = change;
	q->last = &change->next;
	change_queue_step(q);
	return CHANGE_LATER;
}

void change_queue_drain(struct change_queue *q)
{
	while (q->first)
		loop_run(q->loop);
}
