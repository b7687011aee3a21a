/* SPDX-License-Identifier: MIT
 * hook.c - the engine: which hooks fit, the firing that holds them together, and the end of agents.
 *
 * A firing is over for its caller when the last hook that is waited for has ended; it is freed when the async ones have,
 * too. Only its step delivers and frees. */
#include "guard/hook/hook.h"
#include <assert.h>
#include "guard/hook/hook_int.h"

enum { SESSION_END_MS = 1500, SESSION_END_MAX_MS = 60 * 1000 };

/* ---- which hooks fit ---- */

static bool waits_for(const struct hook *hook, const struct hook_fire_spec *spec)
{
	if (hook->once && hook->ran)
		return false;
	if (spec->by_hook && (hook->type == HOOK_AGENT || hook->type == HOOK_MCP_TOOL))
		return false;
	if (!hook_fits(hook, spec->subject))
		return false;
	return !hook->rule.p || !spec->matches_rule || spec->matches_rule(spec->rule_data, hook->rule);
}

bool hook_wanted(const struct hook_fire_spec *spec)
{
	for (size_t i = 0; i < spec->set_count; i++) {
		const struct hook *hook = spec->sets[i] ? spec->sets[i]->events[spec->event] : NULL;
		for (; hook; hook = hook->next)
			if (!(hook->told && !hook->origin->trusted) && waits_for(hook, spec))
				return true;
	}
	return false;
}

static void tell_skipped(struct hook_engine *e, const struct hook_context *context, struct hook *hook)
{
	const struct hook_observer *o = &e->options.observer;

	if (hook->told)
		return;
	hook->told = true;
	if (o->skipped)
		o->skipped(o->data, context, hook, "the folder is not trusted");
}

static bool is_doubled(const struct hook_firing *f, const struct hook *hook)
{
	for (const struct hook_run *run = f->runs; run; run = run->next)
		if (str_eq(run->hook->identity, hook->identity))
			return true;
	return false;
}

static void add_run(struct hook_firing *f, struct hook *hook)
{
	struct hook_run *run = arena_calloc(&f->arena, sizeof *run);

	run->firing = f;
	run->hook = hook;
	hook->ran = true;
	*f->runs_end = run;
	f->runs_end = &run->next;
	f->run_count++;
	f->open++;
	run->async = hook->async && !(hook->rewake && f->engine->options.awaits_rewake);
	f->waiting += !run->async;
}

static void select_hooks(struct hook_firing *f, const struct hook_fire_spec *spec)
{
	for (size_t i = 0; i < f->set_count; i++) {
		struct hook *hook = f->sets[i] ? f->sets[i]->events[spec->event] : NULL;
		for (; hook; hook = hook->next) {
			if (!waits_for(hook, spec))
				continue;
			if (!hook->origin->trusted)
				tell_skipped(f->engine, spec->context, hook);
			else if (!is_doubled(f, hook))
				add_run(f, hook);
		}
	}
}

/* ---- time limits ---- */

/* The session's end waits 1.5 s, or as long as a settings file asks for, up to a minute. */
static uint64_t shared_budget(const struct hook_firing *f)
{
	uint64_t most = SESSION_END_MS;

	if (f->engine->options.session_end_ms)
		return f->engine->options.session_end_ms;
	for (const struct hook_run *run = f->runs; run; run = run->next)
		if (run->hook->origin->layer <= HOOK_FROM_MANAGED)
			most = MAX(most, MIN(run->hook->timeout_ms, (uint64_t)SESSION_END_MAX_MS));
	return most;
}

static uint64_t own_limit(const struct hook *hook)
{
	const struct hook_event_info *info = hook_event_info(hook->event);
	bool of_model = hook->type == HOOK_PROMPT || hook->type == HOOK_AGENT;

	if (hook->timeout_ms)
		return hook->timeout_ms;
	return info->timeout_ms && !of_model ? info->timeout_ms : hook_type_info(hook->type)->timeout_ms;
}

/* ---- firings ---- */

static const char *copy(struct hook_firing *f, const char *text)
{
	return text ? arena_strdup(&f->arena, text) : NULL;
}

static const char *const *copy_environment(struct hook_firing *f, const char *const *envp)
{
	size_t n = 0;

	if (!envp)
		envp = (const char *const *)environ;
	while (envp[n])
		n++;
	const char **list = arena_calloc(&f->arena, (n + 1) * sizeof *list);
	for (size_t i = 0; i < n; i++)
		list[i] = copy(f, envp[i]);
	return list;
}

static void copy_context(struct hook_firing *f, const struct hook_context *c)
{
	f->context = (struct hook_context){
		.session_id = copy(f, c->session_id),
		.cwd = copy(f, c->cwd),
		.effort = copy(f, c->effort),
		.agent_id = copy(f, c->agent_id),
		.project_dir = copy(f, c->project_dir ? c->project_dir : c->cwd),
		.env_file = copy(f, c->env_file),
		.envp = copy_environment(f, c->envp),
		.results_dir = copy(f, c->results_dir),
		.remote = c->remote,
	};
}

static void free_firing(struct hook_firing *f)
{
	struct hook_engine *e = f->engine;

	*f->prev = f->next;
	if (f->next)
		f->next->prev = f->prev;
	e->firing_count--;
	kick_cancel(&f->kick);
	for (struct hook_run *run = f->runs; run; run = run->next)
		hook_run_release(run);
	for (size_t i = 0; i < f->set_count; i++)
		hook_set_unref(f->sets[i]);
	buf_release(&f->input);
	arena_release(&f->arena);
	free(f);
	if (!e->firings && e->drained)
		loop_kick(e->options.loop, &e->drain_kick);
}

static void firing_step(struct kick *kick)
{
	struct hook_firing *f = CONTAINER_OF(kick, struct hook_firing, kick);

	if (!f->delivered && !f->waiting) {
		hook_outcome_merge(f);
		f->delivered = true;
		f->done(f->data, &f->outcome);
	}
	if (f->delivered && !f->open)
		free_firing(f);
}

void hook_firing_run_over(struct hook_run *run)
{
	struct hook_firing *f = run->firing;

	f->open--;
	f->waiting -= !run->async;
	loop_kick(f->engine->options.loop, &f->kick);
}

void hook_firing_release_run(struct hook_run *run)
{
	struct hook_firing *f = run->firing;

	f->waiting--;
	loop_kick(f->engine->options.loop, &f->kick);
}

static struct hook_firing *new_firing(struct hook_engine *e, const struct hook_fire_spec *spec)
{
	struct hook_firing *f = xcalloc(1, sizeof *f);

	f->engine = e;
	f->event = spec->event;
	f->runs_end = &f->runs;
	f->kick.step = firing_step;
	f->set_count = spec->set_count;
	f->sets = arena_calloc(&f->arena, (spec->set_count + 1) * sizeof *f->sets);
	for (size_t i = 0; i < spec->set_count; i++)
		f->sets[i] = hook_set_ref(spec->sets[i]);
	f->next = e->firings;
	f->prev = &e->firings;
	if (f->next)
		f->next->prev = &f->next;
	e->firings = f;
	e->firing_count++;
	return f;
}

static void prepare_runs(struct hook_firing *f, const struct hook_fire_spec *spec)
{
	const char *event = hook_event_info(spec->event)->name;
	bool named = spec->subject.n && hook_event_info(spec->event)->subject;

	f->name = str_from(named ? arena_printf(&f->arena, "%s:" STR_FMT, event, STR_ARG(spec->subject)) : event);
	f->tool_use_id = copy(f, spec->tool_use_id);
	copy_context(f, spec->context);
	hook_input_write(&f->input, spec);
	bool shared = hook_event_info(f->event)->flags & HOOK_SHARED_BUDGET;
	uint64_t budget = shared ? shared_budget(f) : UINT64_MAX;
	for (struct hook_run *run = f->runs; run; run = run->next)
		run->timeout_ms = MIN(own_limit(run->hook), budget);
	for (struct hook_run *run = f->runs; run; run = run->next)
		hook_run_queue(run);
}

struct hook_firing *hook_fire(struct hook_engine *e, const struct hook_fire_spec *spec, hook_done_fn *done, void *data)
{
	struct hook_firing *f = new_firing(e, spec);

	f->done = done;
	f->data = data;
	select_hooks(f, spec);
	if (f->runs)
		prepare_runs(f, spec);
	if (!f->waiting)
		loop_kick(e->options.loop, &f->kick);
	return f;
}

void hook_cancel(struct hook_firing *f)
{
	f->cancelled = true;
	for (struct hook_run *run = f->runs; run; run = run->next)
		if (!run->async)
			hook_run_cancel(run);
}

/* ---- what hooks leave behind ---- */

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
	if (e->group_count == e->group_cap) {
		e->group_cap = e->group_cap ? e->group_cap * 2 : 8;
		e->groups = xrealloc(e->groups, e->group_cap * sizeof *e->groups);
	}
	e->groups[e->group_count++] =
		(struct left_group){ .pgid = pgid,
				     .session_id = owner->session_id ? xstrdup(owner->session_id) : NULL,
				     .agent_id = owner->agent_id ? xstrdup(owner->agent_id) : NULL };
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

/* ---- the ends ---- */

static void end_firing(struct hook_firing *f)
{
	hook_cancel(f);
	for (struct hook_run *run = f->runs; run; run = run->next)
		hook_run_cancel(run);
}

void hook_engine_end_agent(struct hook_engine *e, const char *session_id, const char *agent_id)
{
	for (struct hook_firing *f = e->firings; f; f = f->next)
		if (is_same(f->context.session_id, session_id) && is_same(f->context.agent_id, agent_id))
			end_firing(f);
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
	void (*drained)(void *data) = TAKE(e->drained);

	if (e->firings) {
		e->drained = drained;
		return;
	}
	kill_groups(e);
	if (drained)
		drained(e->drain_data);
}

void hook_engine_drain(struct hook_engine *e, void (*done)(void *data), void *data)
{
	e->drained = done;
	e->drain_data = data;
	for (struct hook_firing *f = e->firings; f; f = f->next)
		end_firing(f);
	loop_kick(e->options.loop, &e->drain_kick);
}

struct hook_engine *hook_engine_new(const struct hook_engine_options *options)
{
	struct hook_engine *e = xcalloc(1, sizeof *e);

	e->options = *options;
	e->queue_end = &e->queue;
	e->start_kick.step = hook_engine_start_some;
	e->drain_kick.step = drain_step;
	return e;
}

void hook_engine_free(struct hook_engine *e)
{
	if (!e)
		return;
	assert(!e->firings && !e->queue);
	kill_groups(e);
	kick_cancel(&e->start_kick);
	kick_cancel(&e->drain_kick);
	free(e->groups);
	free(e);
}
