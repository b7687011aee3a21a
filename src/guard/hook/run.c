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

/* Hooks that are asked over HTTP: the event is the body of a POST, the answer is the output. */

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct hook_run *run = http_data(r);
	int status = http_status(r);

	run->req = NULL;
	if (error)
		hook_run_fail(run, "no answer: %s", text);
	else if (status < 200 || status > 299)
		hook_run_fail(run, "the answer has status %d", status);
	hook_run_ended(run);
}

static const char *const *make_headers(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->batch->arena;
	const char **list = arena_calloc(arena, (hook->header_count + 2) * sizeof *list);
	size_t n = 0;
	bool typed = false;

	for (size_t i = 0; i < hook->header_count; i++) {
		AUTO_BUF struct buf line = { 0 };
		buf_addf(&line, "%s: ", hook->headers[i].name);
		template_add_header(&line, hook->headers[i].value, hook->env_names, run->batch->context.envp);
		typed = typed || str_is_nocase(str_from(hook->headers[i].name), "content-type");
		list[n++] = arena_str(arena, buf_str(&line)).p;
	}
	if (!typed)
		list[n] = "Content-Type: application/json";
	return list;
}

static void http_start_run(struct hook_run *run)
{
	static const struct http_handlers handlers = { .on_done = on_done };
	struct http *http = run->batch->engine->options.http;
	struct err err = { 0 };

	if (!http) {
		hook_run_fail(run, "http hooks cannot be run here");
		hook_run_ended(run);
		return;
	}
	struct http_request request = {
		.method = "POST",
		.url = run->hook->url,
		.headers = make_headers(run),
		.text = buf_str(&run->batch->input),
		.shard = http_pick_shard(http),
		.stall_ms = run->timeout_ms + 1000, /* our own limit comes first */
		.limit_bytes = HOOK_OUT_LIMIT,
		.answer = &run->out,
	};
	if (http_start(http, &request, &handlers, run, &run->req, &err) < 0) {
		hook_run_fail(run, "%s", err.text);
		hook_run_ended(run);
	}
}

static void http_stop_run(struct hook_run *run)
{
	if (run->req)
		http_cancel(run->req);
}

static const struct run_kind run_http = { http_start_run, http_stop_run };

/* Hooks that a runner of the core runs: a model, an agent, an MCP tool, a function of the SDK. */

static const struct hook_runner *runner_of(const struct hook_run *run)
{
	return run->batch->engine->options.runners[run->hook->type];
}

static void call_start(struct hook_run *run)
{
	const struct hook_runner *runner = runner_of(run);
	const struct hook *hook = run->hook;
	struct hook_batch *batch = run->batch;
	struct str input = str_trim(buf_str(&batch->input));
	AUTO_BUF struct buf text = { 0 };

	if (!runner) {
		hook_run_fail(run, "%s hooks cannot be run here", hook_types[hook->type].name);
		hook_run_ended(run);
		return;
	}
	if (hook->prompt)
		template_add_prompt(&text, hook->prompt, input);
	else if (hook->type == HOOK_MCP_TOOL)
		template_add_json(&text, hook->tool_input, input);
	run->call = (struct hook_call){
		.hook = hook,
		.event = batch->event,
		.input = input,
		.text = arena_str(&batch->arena, buf_str(&text)),
		.session_id = batch->context.session_id,
		.agent_id = batch->context.agent_id,
		.tool_use_id = batch->tool_use_id,
	};
	run->called = true;
	runner->start(batch->engine->options.runner_data, &run->call);
}

static void call_stop(struct hook_run *run)
{
	if (run->called)
		runner_of(run)->cancel(run->batch->engine->options.runner_data, &run->call);
}

void hook_call_finish(struct hook_call *call, bool failed, struct str text)
{
	struct hook_run *run = CONTAINER_OF(call, struct hook_run, call);

	run->called = false;
	if (failed)
		hook_run_fail(run, STR_FMT, STR_ARG(text));
	buf_add(&run->out, text.p, MIN(text.n, (size_t)HOOK_OUT_LIMIT));
	run->out_total = text.n;
	hook_run_ended(run);
}

static const struct run_kind run_call = { call_start, call_stop };

static const struct run_kind *const kinds[] = {
	[HOOK_COMMAND] = &run_command, [HOOK_HTTP] = &run_http,  [HOOK_MCP_TOOL] = &run_call,
	[HOOK_PROMPT] = &run_call,     [HOOK_AGENT] = &run_call, [HOOK_CALLBACK] = &run_call,
};

/* Async hooks may live for ever, and agents that are hooks may wait for hooks of their own: neither counts for
 * RUNNING_LIMIT. */
static bool run_is_counted(const struct hook_run *run)
{
	return !run->async && (run->hook->type == HOOK_COMMAND || run->hook->type == HOOK_HTTP);
}

static struct hook_report run_make_report(const struct hook_run *run)
{
	const struct hook_batch *batch = run->batch;

	return (struct hook_report){
		.id = run->id,
		.name = batch->name,
		.event = batch->event,
		.hook = run->hook,
		.session_id = batch->context.session_id,
		.agent_id = batch->context.agent_id,
		.tool_use_id = batch->tool_use_id,
		.exit_code = HOOK_NO_EXIT,
	};
}

static void run_report_end(const struct hook_run *run)
{
	const struct hook_observer *o = &run->batch->engine->options.observer;
	struct hook_report report = run_make_report(run);

	if (!o->ended)
		return;
	report.result = run->reply.result;
	report.exit_code = run->exit_code;
	report.out = hook_repaired(&run->batch->arena, buf_str(&run->out));
	report.err = hook_repaired(&run->batch->arena, buf_str(&run->err));
	report.note = run->reply.note;
	o->ended(o->data, &report);
}

static void run_report_late(const struct hook_run *run)
{
	const struct hook_observer *o = &run->batch->engine->options.observer;
	const struct hook_reply *reply = &run->reply;
	struct hook_late late = { .session_id = run->batch->context.session_id,
				  .agent_id = run->batch->context.agent_id,
				  .hook = run->hook,
				  .context = reply->context,
				  .system_message = reply->system_message };

	if (reply->result == HOOK_CANCELLED || !o->late)
		return;
	if (run->hook->rewake && run->exit_code == 2) {
		struct arena *arena = &run->batch->arena;
		late.wake = str_trim(hook_repaired(arena, buf_str(run->err.n ? &run->err : &run->out)));
		if (run->hook->wake_message)
			late.wake = str_from(
				arena_printf(arena, "%s\n" STR_FMT, run->hook->wake_message, STR_ARG(late.wake)));
	}
	if (late.context.n || late.system_message.n || late.wake.n)
		o->late(o->data, &late);
}

/* A guard that did not come to an answer has not let anything pass: it took too long, printed without end or was killed; its answer
 * cannot be read; its model or server could not be asked, because a project denies it, say; or it failed where the sandbox holds it, which
 * hides what a project names. */
static bool guard_is_lost(const struct hook_run *run)
{
	const struct hook_event_info *info = &hook_events[run->batch->event];
	bool of_model = run->hook->type == HOOK_PROMPT || run->hook->type == HOOK_AGENT;

	return (info->flags & HOOK_GUARDS) && (info->flags & HOOK_ABOUT_TOOL) &&
	       (run->timed_out || run->killed || run->held || run->call.unanswered || run->reply.unread ||
		(of_model && run->failure));
}

static void run_read_failure(struct hook_run *run)
{
	const struct hook_event_info *info = &hook_events[run->batch->event];
	struct hook_reply *reply = &run->reply;
	bool callback_blocks = run->hook->type == HOOK_CALLBACK &&
			       (run->hook->block_on_failure || (run->timed_out && (info->flags & HOOK_GUARDS)));

	*reply = (struct hook_reply){ .result = run->timed_out ? HOOK_CANCELLED : HOOK_ERROR };
	reply->note = str_from(run->failure);
	if ((info->flags & HOOK_NONZERO_FAILS) || callback_blocks || guard_is_lost(run))
		hook_reply_block(reply, run->batch->event, reply->note);
}

static void run_read_output(struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->batch->arena;
	struct hook_raw raw = {
		.event = run->batch->event,
		.exit_code = run->exit_code == HOOK_NO_EXIT ? 0 : run->exit_code,
		.out = buf_str(&run->out),
		.err = buf_str(&run->err),
		.out_cut = run->out_total > HOOK_OUT_LIMIT,
		.json_only = hook->type == HOOK_HTTP || hook->type == HOOK_CALLBACK,
	};

	/* After the line that made it async a hook may log: the first line that begins an object counts. */
	if (run->out_skip) {
		raw.out = (struct str){ run->out.p + run->out_skip, run->out.n - run->out_skip };
		while (raw.out.n) {
			struct str rest = raw.out;
			if (str_starts(str_trim(str_cut(&rest, '\n')), STR("{")))
				break;
			raw.out = rest;
		}
	}
	if (hook->type == HOOK_PROMPT || hook->type == HOOK_AGENT)
		hook_answer_read(arena, raw.event, hook->continue_on_block, raw.out, &run->reply);
	else
		hook_output_read(arena, &raw, &run->reply);
	if (run->reply.result == HOOK_ERROR && !run->reply.block && guard_is_lost(run))
		hook_reply_block(&run->reply, raw.event, run->reply.note);
}

static void run_step(struct kick *kick)
{
	struct hook_run *run = CONTAINER_OF(kick, struct hook_run, kick);
	struct hook_batch *batch = run->batch;
	struct hook_engine *e = batch->engine;
	bool was_started = run->state == RUN_STARTED;

	if (!run->ended || run->state == RUN_OVER)
		return;
	timer_stop(e->options.loop, &run->timer);
	run->state = RUN_OVER;
	if (run->cancelled)
		run->reply = (struct hook_reply){ .result = HOOK_CANCELLED };
	else if (run->failure)
		run_read_failure(run);
	else
		run_read_output(run);
	if (was_started && run_is_counted(run))
		e->running--;
	if (was_started)
		run_report_end(run);
	if (run->async)
		run_report_late(run);
	if (e->queue)
		loop_kick(e->options.loop, &e->start_kick);
	batch->open--;
	batch->waiting -= !run->async;
	loop_kick(e->options.loop, &batch->kick);
}

void hook_run_fail(struct hook_run *run, const char *fmt, ...)
{
	AUTO_BUF struct buf out = { 0 };
	char text[400];

	if (run->failure)
		return;
	PRINT_ARGS(text, fmt);
	utf8_add_repaired(&out, utf8_cut(str_from(text), sizeof text - 4));
	run->failure = arena_str(&run->batch->arena, buf_str(&out)).p;
}

void hook_run_become_async(struct hook_run *run, uint64_t timeout_ms)
{
	struct hook_engine *e = run->batch->engine;

	if (run->async || run->cancelled)
		return;
	if (run_is_counted(run))
		e->running--;
	run->async = true;
	if (timeout_ms) {
		run->timeout_ms = timeout_ms;
		timer_start(e->options.loop, &run->timer, timeout_ms);
	}
	if (e->queue)
		loop_kick(e->options.loop, &e->start_kick);
	run->batch->waiting--;
	loop_kick(e->options.loop, &run->batch->kick);
}

static void run_unqueue(struct hook_run *run)
{
	struct hook_engine *e = run->batch->engine;

	*run->queue_prev = run->queue_next;
	if (run->queue_next)
		run->queue_next->queue_prev = run->queue_prev;
	else
		e->queue_end = run->queue_prev;
	run->queue_prev = NULL;
}

static void run_stop(struct hook_run *run)
{
	if (run->state == RUN_QUEUED) {
		run_unqueue(run);
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
	struct hook_engine *e = run->batch->engine;

	run_unqueue(run);
	run->state = RUN_STARTED;
	if (run_is_counted(run))
		e->running++;
	/* The time of SessionEnd begins with the event, that of other hooks with their start. */
	if (!(hook_events[run->batch->event].flags & HOOK_SHARED_BUDGET))
		timer_start(e->options.loop, &run->timer, run->timeout_ms);
	const struct hook_observer *o = &e->options.observer;
	struct hook_report report = run_make_report(run);
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
	struct hook_engine *e = run->batch->engine;

	id_uuid(run->id);
	run->kick.step = run_step;
	run->timer.fire = on_timeout;
	run->exit_code = HOOK_NO_EXIT;
	run->queue_prev = e->queue_end;
	*e->queue_end = run;
	e->queue_end = &run->queue_next;
	if (hook_events[run->batch->event].flags & HOOK_SHARED_BUDGET)
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
