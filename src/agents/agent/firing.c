/* SPDX-License-Identifier: MIT
 * firing.c - events of agents, given to hooks. */
#include "agents/agent/firing.h"
#include "agents/agent/env_file.h"
#include "agents/agent/subagent.h"

enum { SET_COUNT = 2 + MOST_SKILL_HOOKS };

static void find_sets(const struct agent *a, struct hook_set *sets[SET_COUNT])
{
	sets[0] = a->tree->hook_set;
	sets[1] = a->hooks;
	for (size_t i = 0; i < MOST_SKILL_HOOKS; i++)
		sets[2 + i] = a->tree->skill_hooks[i].set;
}

bool agent_has_hooks(const struct agent *a, const struct hook_fire_spec *spec)
{
	struct hook_set *sets[SET_COUNT];
	struct hook_fire_spec all = *spec;

	find_sets(a, sets);
	all.sets = sets;
	all.set_count = SET_COUNT;
	return a->tree->hooks && hook_wanted(&all);
}

static void describe(const struct agent *a, struct hook_context *ret)
{
	const struct agent_tree *t = a->tree;

	*ret = (struct hook_context){
		.session_id = t->session_id,
		.transcript_path = t->main.journal ? journal_path(t->main.journal) : NULL,
		.cwd = a->env.cwd ? a->env.cwd : a->cwd,
		.permission_mode = permission_mode_name(permission_mode(&a->permission)),
		.agent_id = a->parent ? a->who.id : NULL,
		.agent_type = a->who.type,
		.project_dir = t->project_dir,
		.envp = t->envp,
		.results_dir = t->results_dir,
	};
}

struct hook_firing *agent_run_hooks(struct agent *a, struct hook_fire_spec *spec, hook_done_fn *done, void *data)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct hook_set *sets[SET_COUNT];
	struct hook_context context;

	find_sets(a, sets);
	describe(a, &context);
	context.env_file = env_file_begin(a->tree, spec->event, &arena);
	spec->sets = sets;
	spec->set_count = SET_COUNT;
	spec->context = &context;
	return hook_fire(a->tree->hooks, spec, done, data);
}

/* ---- without waiting ------------------------------------------------------------------------------------------- */

struct async_hook {
	struct agent_tree *tree;
	struct async_hook *next, **prev; /* in tree->async_hooks */
	struct hook_firing *firing;
};

static void on_async_hook_done(void *data, const struct hook_outcome *outcome)
{
	struct async_hook *e = data;
	struct agent_tree *t = e->tree;

	emit_hook_messages(t, NULL, outcome);
	if (t->on_async_hook)
		t->on_async_hook(t, outcome);
	*e->prev = e->next;
	if (e->next)
		e->next->prev = e->prev;
	free(e);
	if (!t->async_hooks && t->on_idle)
		t->on_idle(t);
}

void agent_notify_hooks(struct agent *a, struct hook_fire_spec *spec)
{
	struct agent_tree *t = a->tree;
	struct async_hook *e = xcalloc(1, sizeof *e);

	e->tree = t;
	e->next = t->async_hooks;
	e->prev = &t->async_hooks;
	if (e->next)
		e->next->prev = &e->next;
	t->async_hooks = e;
	e->firing = agent_run_hooks(a, spec, on_async_hook_done, e);
}

void agent_tree_cancel_async_hooks(struct agent_tree *t)
{
	for (struct async_hook *e = t->async_hooks; e; e = e->next)
		hook_cancel(e->firing);
}

/* ---- what they say --------------------------------------------------------------------------------------------- */

static void say(struct agent_tree *t, const struct event_agent *who, struct str text)
{
	t->on_event(t->data, &(struct event){ .kind = EVENT_ERROR, .agent = who, .text = text });
}

static void say_stop(struct agent_tree *t, const struct event_agent *who, struct str reason)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "a hook ended the turn: " STR_FMT, STR_ARG(reason));
	say(t, who, buf_str(&text));
}

void emit_hook_messages(struct agent_tree *t, const struct event_agent *who, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->message_count; i++)
		say(t, who, outcome->messages[i]);
	for (size_t i = 0; i < outcome->note_count; i++)
		say(t, who, outcome->notes[i]);
	if (outcome->stop && outcome->stop_reason.n)
		say_stop(t, who, outcome->stop_reason);
}

void agent_apply_hook_outcome(struct agent *a, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(outcome->contexts[i]));
		query_notice(&a->query, NULL, buf_str(&text));
	}
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->stop)
		query_halt(&a->query, outcome->stop_reason);
}
