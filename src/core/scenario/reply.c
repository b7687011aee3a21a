/* SPDX-License-Identifier: MIT
 * reply.c - hands out an answer step by step. Bytes are made when they are asked for: events are joined into one step
 * unless the scenario wants time between them, then the fault of the rule, if any, shortens what was made. */
#include "core/scenario/engine_int.h"

enum { STEP_BYTES = 64 * 1024 };

uint64_t range_pick(const struct range *r, uint64_t *random)
{
	return r->from + (r->to > r->from ? digest_random(random) % (r->to - r->from + 1) : 0);
}

const struct reply_head *reply_head(const struct reply *r)
{
	return &r->head;
}

static bool fault_after_event(const struct reply *r)
{
	const struct fault *f = &r->rule->fault;

	return f->kind &&
	       ((f->place == AFTER_EVENT && r->events >= f->at) || (f->place == AFTER_CALL && r->calls >= f->at));
}

static void add_events(struct reply *r)
{
	bool slow = r->rule->pace.delay_ms.to > 0;

	while (r->stage != STAGE_OVER && !r->faulty && r->out.n < STEP_BYTES) {
		if (!fault_after_event(r)) {
			event_next(r, &r->out);
		} else if (r->rule->fault.kind == FAULT_ERROR) {
			if (r->chat)
				chat_event_error(&r->rule->fault, &r->out);
			else
				event_error(&r->rule->fault, &r->out);
			r->stage = STAGE_OVER;
		} else {
			r->faulty = true;
		}
		if (slow)
			break;
	}
}

static void cut_short(struct reply *r, uint64_t at)
{
	if (r->made + r->out.n < at)
		return;
	r->out.n = at - r->made;
	r->faulty = true;
}

/* Makes the next bytes; none: the reply is over or its fault has come. */
static void make(struct reply *r)
{
	const struct fault *f = r->rule ? &r->rule->fault : NULL;

	buf_clear(&r->out);
	r->out_at = 0;
	if (r->stage == STAGE_OVER || r->faulty)
		return;
	if (r->message && r->head.stream) {
		add_events(r);
	} else if (r->rule && r->rule->garbage_bytes) {
		for (; r->at < r->rule->garbage_bytes && r->out.n < STEP_BYTES; r->at += 8) {
			uint64_t word = digest_random(&r->random);
			buf_add(&r->out, &word, MIN(sizeof word, r->rule->garbage_bytes - r->at));
		}
		if (r->at >= r->rule->garbage_bytes)
			r->stage = STAGE_OVER;
	} else {
		if (r->message && r->chat)
			chat_json(r, &r->out);
		else if (r->message)
			message_json(r, &r->out);
		else
			buf_add(&r->out, r->body.p, r->body.n);
		r->stage = STAGE_OVER;
		/* Without events, a place that is given in events is the middle. */
		if (f && (f->kind == FAULT_CUT || f->kind == FAULT_STALL) && f->place != AT_BYTE)
			cut_short(r, r->out.n / 2);
	}
	if (f && f->kind && f->place == AT_BYTE && !r->faulty)
		cut_short(r, f->at);
	r->made += r->out.n;
}

static uint64_t next_delay(struct reply *r)
{
	if (!r->rule || r->faulty)
		return 0;
	if (r->rule->pace.drip && r->out_at < r->out.n)
		return range_pick(&r->rule->pace.drip_ms, &r->random);
	return r->stage == STAGE_OVER ? 0 : range_pick(&r->rule->pace.delay_ms, &r->random);
}

uint64_t reply_delay_ms(const struct reply *r)
{
	return r->delay_ms;
}

static struct reply_step last_step(struct reply *r)
{
	enum reply_step_kind kind = !r->faulty ? REPLY_END : r->rule->fault.kind == FAULT_CUT ? REPLY_CUT : REPLY_STALL;
	struct reply_step step = { .kind = kind, .delay_ms = r->delay_ms };

	r->delay_ms = 0;
	return step;
}

struct reply_step reply_next(struct reply *r)
{
	if (r->out_at == r->out.n)
		make(r);
	if (r->out_at == r->out.n)
		return last_step(r);

	size_t n = r->rule && r->rule->pace.drip ? 1 : r->out.n - r->out_at;
	struct reply_step step = { REPLY_BYTES, r->delay_ms, { r->out.p + r->out_at, n } };
	r->out_at += n;
	r->engine->counters.bytes_out += n;
	r->delay_ms = next_delay(r);
	return step;
}

void reply_begun(struct reply *r)
{
	prompt_cache_write(&r->engine->cache, r->writes, r->write_count, r->engine->now_ms);
	r->write_count = 0;
}

void reply_free(struct reply *r)
{
	if (!r)
		return;
	if (r->counted)
		r->engine->in_flight--;
	buf_release(&r->out);
	free(r);
}
