/* SPDX-License-Identifier: MIT
 * hook.c - the engine: selects the hooks of an event, holds their runs together as a batch, and ends agents.
 *
 * A batch is over for its caller when the last hook that is waited for has ended; it is freed when the async ones have,
 * too. Only its step delivers and frees. */
#include "guard/hook/hook.h"
#include <assert.h>
#include "guard/hook/hook_int.h"
#include "lib/json/json_write.h"
#include "lib/base/list.h"

enum { SESSION_END_MS = 1500, SESSION_END_MAX_MS = 60 * 1000 };

static bool hook_is_wanted(const struct hook *hook, const struct hook_event_spec *spec,
			   const struct hook_subject *subject)
{
	if ((hook->once && hook->ran) || (spec->except && str_eq(hook->identity, spec->except->identity)))
		return false;
	if (spec->by_hook && (hook->type == HOOK_AGENT || hook->type == HOOK_MCP_TOOL))
		return false;
	if (!hook_fits(hook, subject))
		return false;
	return !hook->rule.p || !spec->matches_rule || spec->matches_rule(spec->rule_data, hook->rule);
}

bool hook_wanted(const struct hook_event_spec *spec)
{
	struct hook_subject subject = { 0 };

	for (size_t i = 0; i < spec->set_count; i++) {
		const struct hook *hook = spec->sets[i] ? spec->sets[i]->events[spec->event] : NULL;
		if (hook && !subject.count)
			subject = hook_subject(spec->event, spec->subject);
		for (; hook; hook = hook->next)
			if (!(hook->skip_reported && !hook->origin->trusted) && hook_is_wanted(hook, spec, &subject))
				return true;
	}
	return false;
}

/* The same hook of several files runs once. */
static void batch_add_run(struct hook_batch *batch, struct hook *hook)
{
	for (const struct hook_run *run = batch->runs; run; run = run->next)
		if (str_eq(run->hook->identity, hook->identity))
			return;
	struct hook_run *run =
		arena_new(&batch->arena, struct hook_run, .batch = batch, .hook = hook,
			  .async = hook->async && !(hook->rewake && batch->engine->options.awaits_rewake));
	hook->ran = true;
	*batch->runs_end = run;
	batch->runs_end = &run->next;
	batch->run_count++;
	batch->open++;
	batch->waiting += !run->async;
}

static void batch_select_hooks(struct hook_batch *batch, const struct hook_event_spec *spec)
{
	const struct hook_observer *o = &batch->engine->options.observer;
	const struct hook_subject subject = hook_subject(spec->event, spec->subject);

	for (size_t i = 0; i < batch->set_count; i++) {
		struct hook *hook = batch->sets[i] ? batch->sets[i]->events[spec->event] : NULL;
		for (; hook; hook = hook->next) {
			if (!hook_is_wanted(hook, spec, &subject))
				continue;
			if (hook->origin->trusted) {
				batch_add_run(batch, hook);
			} else if (!hook->skip_reported) {
				hook->skip_reported = true;
				if (o->skipped)
					o->skipped(o->data, spec->context, hook, "the folder is not trusted");
			}
		}
	}
}

/* SessionEnd has 1.5 s for all its hooks, or as long as a settings file asks for, up to a minute. */
static void batch_set_timeouts(struct hook_batch *batch)
{
	const struct hook_event_info *info = &hook_events[batch->event];
	uint64_t budget = UINT64_MAX;

	if (info->flags & HOOK_SHARED_BUDGET) {
		uint64_t fixed = batch->engine->options.session_end_ms;
		budget = fixed ? fixed : SESSION_END_MS;
		for (const struct hook_run *run = batch->runs; run && !fixed; run = run->next)
			if (run->hook->origin->layer <= HOOK_FROM_MANAGED)
				budget = MAX(budget, MIN(run->hook->timeout_ms, (uint64_t)SESSION_END_MAX_MS));
	}
	for (struct hook_run *run = batch->runs; run; run = run->next) {
		bool of_model = run->hook->type == HOOK_PROMPT || run->hook->type == HOOK_AGENT;
		uint64_t limit = run->hook->timeout_ms;
		if (!limit && info->timeout_ms && !of_model)
			limit = info->timeout_ms;
		else if (!limit)
			limit = hook_types[run->hook->type].timeout_ms;
		run->timeout_ms = MIN(limit, budget);
	}
}

/* One JSON object: the members that all events have, then the event's own. */
static void write_input(struct buf *out, const struct hook_event_spec *spec)
{
	const struct hook_context *c = spec->context;
	struct json_out w = json_out(out);
	struct str s = str_trim(spec->fields);
	struct str own = s.n >= 2 && s.p[0] == '{' ? str_trim((struct str){ s.p + 1, s.n - 2 }) : STR("");

	json_putf(&w, "{session_id:'%s', transcript_path:'%s', cwd:'%s', prompt_id?:'%s', permission_mode?:'%s'",
		  c->session_id ? c->session_id : "", c->transcript_path ? c->transcript_path : "",
		  c->cwd ? c->cwd : "", c->prompt_id, c->permission_mode);
	if (c->effort)
		json_putf(&w, "effort:{level:'%s'}", c->effort);
	json_putf(&w, "agent_id?:'%s', agent_type?:'%s', hook_event_name:'%s'", c->agent_id, c->agent_type,
		  hook_events[spec->event].name);
	if (own.n) {
		buf_addch(out, ',');
		buf_add(out, own.p, own.n);
	}
	json_close(&w);
	buf_addch(out, '\n'); /* for `read` of shells, which wants a whole line */
}

static void batch_free(struct hook_batch *batch)
{
	struct hook_engine *e = batch->engine;

	list_remove(batch);
	e->batch_count--;
	kick_cancel(&batch->kick);
	for (struct hook_run *run = batch->runs; run; run = run->next) {
		kick_cancel(&run->kick);
		buf_release(&run->out);
		buf_release(&run->err);
	}
	for (size_t i = 0; i < batch->set_count; i++)
		hook_set_unref(batch->sets[i]);
	buf_release(&batch->input);
	arena_release(&batch->arena);
	free(batch);
	if (!e->batches && e->drained)
		loop_kick(e->options.loop, &e->drain_kick);
}

static void batch_step(struct kick *kick)
{
	struct hook_batch *batch = CONTAINER_OF(kick, struct hook_batch, kick);

	if (!batch->delivered && !batch->waiting) {
		hook_outcome_merge(batch);
		batch->delivered = true;
		batch->done(batch->data, &batch->outcome);
	}
	if (batch->delivered && !batch->open)
		batch_free(batch);
}

static struct hook_batch *batch_new(struct hook_engine *e, const struct hook_event_spec *spec)
{
	struct hook_batch *batch = xnew(struct hook_batch, .engine = e, .event = spec->event);

	batch->runs_end = &batch->runs;
	batch->kick.step = batch_step;
	batch->set_count = spec->set_count;
	batch->sets = arena_calloc(&batch->arena, (spec->set_count + 1) * sizeof *batch->sets);
	for (size_t i = 0; i < spec->set_count; i++)
		batch->sets[i] = hook_set_ref(spec->sets[i]);
	list_push(&e->batches, batch);
	e->batch_count++;
	return batch;
}

static void batch_queue_runs(struct hook_batch *batch, const struct hook_event_spec *spec)
{
	const struct hook_event_info *info = &hook_events[spec->event];
	const struct hook_context *c = spec->context;
	struct arena *a = &batch->arena;
	const char *const *envp = c->envp ? c->envp : (const char *const *)environ;

	batch->name = str_from(info->name);
	if (spec->subject.n && info->subject)
		batch->name = str_from(arena_printf(&batch->arena, "%s:" STR_FMT, info->name, STR_ARG(spec->subject)));
	batch->tool_use_id = arena_strdup(a, spec->tool_use_id);
	batch->context = (struct hook_context){
		.session_id = arena_strdup(a, c->session_id),
		.cwd = arena_strdup(a, c->cwd),
		.effort = arena_strdup(a, c->effort),
		.agent_id = arena_strdup(a, c->agent_id),
		.project_dir = arena_strdup(a, c->project_dir ? c->project_dir : c->cwd),
		.env_file = arena_strdup(a, c->env_file),
		.envp = arena_strdup_list(a, envp, 0),
		.results_dir = arena_strdup(a, c->results_dir),
		.cage = c->cage,
	};
	write_input(&batch->input, spec);
	batch_set_timeouts(batch);
	for (struct hook_run *run = batch->runs; run; run = run->next)
		hook_run_queue(run);
}

struct hook_batch *hook_run_event(struct hook_engine *e, const struct hook_event_spec *spec, hook_done_fn *done,
				  void *data)
{
	struct hook_batch *batch = batch_new(e, spec);

	batch->done = done;
	batch->data = data;
	batch_select_hooks(batch, spec);
	if (batch->runs)
		batch_queue_runs(batch, spec);
	if (!batch->waiting)
		loop_kick(e->options.loop, &batch->kick);
	return batch;
}

void hook_cancel(struct hook_batch *batch)
{
	batch->cancelled = true;
	for (struct hook_run *run = batch->runs; run; run = run->next)
		if (!run->async)
			hook_run_cancel(run);
}

static void drop_group(struct hook_engine *e, size_t i)
{
	free(e->groups[i].session_id);
	free(e->groups[i].agent_id);
	e->groups[i] = e->groups[--e->group_count];
}

void hook_engine_keep_group(struct hook_engine *e, pid_t pgid, const struct hook_context *owner)
{
	struct spawner *spawner = e->options.spawner;

	if (!spawner_group_left(spawner, pgid))
		return;
	for (size_t i = e->group_count; i-- > 0;)
		if (!spawner_group_left(spawner, e->groups[i].pgid))
			drop_group(e, i);
	*xpush(e->groups, e->group_count, e->group_cap) =
		(struct left_group){ .pgid = pgid,
				     .session_id = owner->session_id ? xstrdup(owner->session_id) : NULL,
				     .agent_id = owner->agent_id ? xstrdup(owner->agent_id) : NULL };
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

static void batch_end(struct hook_batch *batch)
{
	batch->cancelled = true;
	for (struct hook_run *run = batch->runs; run; run = run->next)
		hook_run_cancel(run);
}

void hook_engine_end_agent(struct hook_engine *e, const char *session_id, const char *agent_id)
{
	for (struct hook_batch *batch = e->batches; batch; batch = batch->next)
		if (is_same(batch->context.session_id, session_id) && is_same(batch->context.agent_id, agent_id))
			batch_end(batch);
	for (size_t i = e->group_count; i-- > 0;) {
		if (!is_same(e->groups[i].session_id, session_id) || !is_same(e->groups[i].agent_id, agent_id))
			continue;
		spawner_kill_group(e->options.spawner, e->groups[i].pgid);
		drop_group(e, i);
	}
}

static void kill_groups(struct hook_engine *e)
{
	while (e->group_count) {
		spawner_kill_group(e->options.spawner, e->groups[e->group_count - 1].pgid);
		drop_group(e, e->group_count - 1);
	}
}

static void drain_step(struct kick *kick)
{
	struct hook_engine *e = CONTAINER_OF(kick, struct hook_engine, drain_kick);

	if (e->batches)
		return;
	void (*drained)(void *data) = TAKE(e->drained);
	kill_groups(e);
	if (drained)
		drained(e->drain_data);
}

void hook_engine_drain(struct hook_engine *e, void (*done)(void *data), void *data)
{
	e->drained = done;
	e->drain_data = data;
	for (struct hook_batch *batch = e->batches; batch; batch = batch->next)
		batch_end(batch);
	loop_kick(e->options.loop, &e->drain_kick);
}

struct hook_engine *hook_engine_new(const struct hook_engine_options *options)
{
	struct hook_engine *e = xnew(struct hook_engine, .options = *options);

	e->queue_end = &e->queue;
	e->start_kick.step = hook_engine_start_some;
	e->drain_kick.step = drain_step;
	return e;
}

void hook_engine_free(struct hook_engine *e)
{
	if (!e)
		return;
	assert(!e->batches && !e->queue);
	kill_groups(e);
	kick_cancel(&e->start_kick);
	kick_cancel(&e->drain_kick);
	free(e->groups);
	free(e);
}
