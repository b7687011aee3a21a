/* SPDX-License-Identifier: MIT
 * run.c - the life of one hook.
 *
 *     QUEUED --start--> STARTED --ended--> OVER          what it said is read on the way to OVER
 *        \--cancel--------------------------^
 *
 * Starting a process takes a millisecond, so a hundred hooks are not started in one turn of the loop: each turn starts as
 * many as fit into a small time. Callbacks of the types record `ended` or `failure` and kick. */
#include "guard/hook/hook_int.h"
#include "lib/base/utf8.h"

enum {
	START_BUDGET_NS = 2 * 1000 * 1000,
	RUNNING_LIMIT = 256, /* a thousand agents must not start a thousand processes at once */
};

static const struct run_kind *const kinds[] = {
	[HOOK_COMMAND] = &run_command, [HOOK_HTTP] = &run_http,  [HOOK_MCP_TOOL] = &run_call,
	[HOOK_PROMPT] = &run_call,     [HOOK_AGENT] = &run_call, [HOOK_CALLBACK] = &run_call,
};

/* Async hooks may live for ever, and agents that are hooks may wait for hooks of their own: neither may keep a place. */
static bool takes_place(const struct hook_run *run)
{
	return !run->async && (run->hook->type == HOOK_COMMAND || run->hook->type == HOOK_HTTP);
}

/* ---- reports ---- */

static struct str repaired(struct arena *arena, const struct buf *b)
{
	AUTO_BUF struct buf out = { 0 };

	if (utf8_valid(buf_str(b)))
		return buf_str(b);
	utf8_add_repaired(&out, buf_str(b));
	return arena_str(arena, buf_str(&out));
}

static struct hook_report make_report(const struct hook_run *run)
{
	const struct hook_firing *f = run->firing;

	return (struct hook_report){
		.id = run->id,
		.name = f->name,
		.event = f->event,
		.hook = run->hook,
		.session_id = f->context.session_id,
		.agent_id = f->context.agent_id,
		.tool_use_id = f->tool_use_id,
		.exit_code = HOOK_NO_EXIT,
	};
}

static void report_end(const struct hook_run *run)
{
	const struct hook_observer *o = &run->firing->engine->options.observer;
	struct hook_report report = make_report(run);

	if (!o->ended)
		return;
	report.result = run->reply.result;
	report.exit_code = run->exit_code;
	report.out = repaired(&run->firing->arena, &run->out);
	report.err = repaired(&run->firing->arena, &run->err);
	report.note = run->reply.note;
	o->ended(o->data, &report);
}

static void report_late(const struct hook_run *run)
{
	const struct hook_observer *o = &run->firing->engine->options.observer;
	const struct hook_reply *reply = &run->reply;
	struct hook_late late = { .session_id = run->firing->context.session_id,
				  .agent_id = run->firing->context.agent_id,
				  .hook = run->hook,
				  .context = reply->context,
				  .system_message = reply->system_message };

	if (reply->result == HOOK_CANCELLED || !o->late)
		return;
	if (run->hook->rewake && run->exit_code == 2) {
		late.wake = str_trim(repaired(&run->firing->arena, run->err.n ? &run->err : &run->out));
		if (run->hook->wake_message)
			late.wake = str_from(arena_printf(&run->firing->arena, "%s\n" STR_FMT, run->hook->wake_message,
							  STR_ARG(late.wake)));
	}
	if (late.context.n || late.system_message.n || late.wake.n)
		o->late(o->data, &late);
}

/* ---- the end ---- */

static bool failure_blocks(const struct hook_run *run)
{
	unsigned flags = hook_event_info(run->firing->event)->flags;

	if (flags & HOOK_NONZERO_FAILS)
		return true;
	if (run->hook->type != HOOK_CALLBACK)
		return false;
	return run->hook->block_on_failure || (run->timed_out && (flags & HOOK_GUARDS));
}

static void take_failure(struct hook_run *run)
{
	struct hook_reply *reply = &run->reply;

	*reply = (struct hook_reply){ .result = run->timed_out ? HOOK_CANCELLED : HOOK_ERROR };
	reply->note = str_from(run->failure);
	if (!failure_blocks(run))
		return;
	reply->block = true;
	reply->reason = reply->note;
	if (hook_event_info(run->firing->event)->fields & (1u << HOOK_PERMISSION_DECISION)) {
		reply->permission = HOOK_PERMISSION_DENY;
		reply->permission_reason = reply->note;
	}
}

/* Behind the line that made it async a hook may log as it likes: the first line that begins an object counts. */
static struct str late_output(const struct hook_run *run)
{
	struct str rest = { run->out.p + run->out_skip, run->out.n - run->out_skip };

	while (rest.n) {
		struct str from = rest;
		if (str_starts(str_trim(str_cut(&rest, '\n')), STR("{")))
			return from;
	}
	return (struct str){ 0 };
}

static void take_output(struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->firing->arena;
	struct hook_raw raw = {
		.event = run->firing->event,
		.exit_code = run->exit_code == HOOK_NO_EXIT ? 0 : run->exit_code,
		.out = run->out_skip ? late_output(run) : buf_str(&run->out),
		.err = buf_str(&run->err),
		.out_cut = run->out_total > HOOK_OUT_LIMIT,
		.json_only = hook->type == HOOK_HTTP || hook->type == HOOK_CALLBACK,
	};

	if (hook->type == HOOK_PROMPT || hook->type == HOOK_AGENT)
		hook_answer_read(arena, raw.event, hook->continue_on_block, raw.out, &run->reply);
	else
		hook_output_read(arena, &raw, &run->reply);
}

static void run_over(struct hook_run *run)
{
	struct hook_engine *e = run->firing->engine;
	bool was_started = run->state == RUN_STARTED;

	timer_stop(e->options.loop, &run->timer);
	run->state = RUN_OVER;
	if (run->cancelled)
		run->reply = (struct hook_reply){ .result = HOOK_CANCELLED };
	else if (run->failure)
		take_failure(run);
	else
		take_output(run);
	if (was_started && takes_place(run))
		e->running--;
	if (was_started)
		report_end(run);
	if (run->async)
		report_late(run);
	if (e->queue)
		loop_kick(e->options.loop, &e->start_kick);
	hook_firing_run_over(run);
}

static void run_step(struct kick *kick)
{
	struct hook_run *run = CONTAINER_OF(kick, struct hook_run, kick);

	if (run->ended && run->state != RUN_OVER)
		run_over(run);
}

void hook_run_ended(struct hook_run *run)
{
	run->ended = true;
	loop_kick(run->firing->engine->options.loop, &run->kick);
}

void hook_run_fail(struct hook_run *run, const char *fmt, ...)
{
	AUTO_BUF struct buf out = { 0 };
	char text[400];
	va_list args;

	if (run->failure)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	utf8_add_repaired(&out, utf8_cut(str_from(text), sizeof text - 4));
	run->failure = arena_str(&run->firing->arena, buf_str(&out)).p;
}

void hook_run_become_async(struct hook_run *run, uint64_t timeout_ms)
{
	struct hook_engine *e = run->firing->engine;

	if (run->async || run->cancelled)
		return;
	if (takes_place(run))
		e->running--;
	run->async = true;
	if (timeout_ms) {
		run->timeout_ms = timeout_ms;
		timer_start(e->options.loop, &run->timer, timeout_ms);
	}
	if (e->queue)
		loop_kick(e->options.loop, &e->start_kick);
	hook_firing_release_run(run);
}

/* ---- the queue ---- */

static void unqueue(struct hook_run *run)
{
	struct hook_engine *e = run->firing->engine;

	*run->queue_prev = run->queue_next;
	if (run->queue_next)
		run->queue_next->queue_prev = run->queue_prev;
	else
		e->queue_end = run->queue_prev;
	run->queue_prev = NULL;
}

static bool has_short_time(const struct hook_run *run)
{
	return hook_event_info(run->firing->event)->flags & HOOK_SHARED_BUDGET;
}

static void run_stop(struct hook_run *run)
{
	if (run->state == RUN_QUEUED) {
		unqueue(run);
		hook_run_ended(run);
	} else if (run->state == RUN_STARTED && !run->ended) {
		kinds[run->hook->type]->stop(run);
	}
}

static void on_timeout(struct timer *timer)
{
	struct hook_run *run = CONTAINER_OF(timer, struct hook_run, timer);

	run->timed_out = true;
	hook_run_fail(run, "no end within %g s", (double)run->timeout_ms / 1000);
	run_stop(run);
}

static void run_start(struct hook_run *run)
{
	struct hook_engine *e = run->firing->engine;

	unqueue(run);
	run->state = RUN_STARTED;
	if (takes_place(run))
		e->running++;
	if (!has_short_time(run))
		timer_start(e->options.loop, &run->timer, run->timeout_ms);
	const struct hook_observer *o = &run->firing->engine->options.observer;
	struct hook_report report = make_report(run);
	if (o->started)
		o->started(o->data, &report);
	if (run->cancelled) /* by an observer */
		hook_run_ended(run);
	else
		kinds[run->hook->type]->start(run);
}

void hook_engine_start_some(struct kick *kick)
{
	struct hook_engine *e = CONTAINER_OF(kick, struct hook_engine, start_kick);
	uint64_t end_ns = uv_hrtime() + START_BUDGET_NS;

	while (e->queue && e->running < RUNNING_LIMIT) {
		run_start(e->queue);
		if (uv_hrtime() >= end_ns)
			break;
	}
	if (e->queue && e->running < RUNNING_LIMIT)
		loop_kick(e->options.loop, kick);
}

void hook_run_queue(struct hook_run *run)
{
	struct hook_engine *e = run->firing->engine;

	id_uuid(run->id);
	run->kick.step = run_step;
	run->timer.fire = on_timeout;
	run->exit_code = HOOK_NO_EXIT;
	run->queue_prev = e->queue_end;
	*e->queue_end = run;
	e->queue_end = &run->queue_next;
	if (has_short_time(run))
		timer_start(e->options.loop, &run->timer, run->timeout_ms);
	loop_kick(e->options.loop, &e->start_kick);
}

void hook_run_cancel(struct hook_run *run)
{
	if (run->cancelled || run->state == RUN_OVER)
		return;
	run->cancelled = true;
	run_stop(run);
}

void hook_run_release(struct hook_run *run)
{
	kick_cancel(&run->kick);
	buf_release(&run->out);
	buf_release(&run->err);
}
