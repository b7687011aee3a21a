/* SPDX-License-Identifier: MIT
 * tree.c - all agents of one session. */
#include "agents/agent/tree.h"
#include <assert.h>
#include "core/model/catalog.h"
#include "core/store/state.h"
#include "agents/agent/subagent.h"

enum { TASKS_PAUSE_MS = 100 };

static void on_tasks_timer(struct timer *timer)
{
	agent_tree_tell_tasks(CONTAINER_OF(timer, struct agent_tree, tasks_timer));
}

void agent_tree_open(struct agent_tree *t)
{
	t->tasks_end = &t->tasks;
	t->tasks_timer.fire = on_tasks_timer;
	seats_init(&t->seats, t->loop, t->limits.alive);
	agent_init(&t->main, t, NULL);
}

static void task_free(struct task *task)
{
	assert(!task->live && !task->waits);
	buf_release(&task->report);
	arena_release(&task->arena);
	free(task);
}

void agent_tree_release(struct agent_tree *t)
{
	buf_release(&t->hook_notes);
	assert(!t->alive);
	if (t->loop)
		timer_stop(t->loop, &t->tasks_timer);
	agent_release(&t->main);
	for (struct task *task = t->tasks, *next; task; task = next) {
		next = task->next;
		task_free(task);
	}
	map_release(&t->by_id);
	if (t->seats.loop)
		seats_release(&t->seats);
	agent_tree_forget_denials(t);
	for (size_t i = 0; i < t->spending_count; i++)
		free(t->spending[i].model);
	free(t->spending);
	free(t->agent_definition);
	for (size_t i = 0; i < t->skill_hook_count; i++)
		hook_set_unref(t->skill_hooks[i].set);
	for (size_t i = 0; i < COUNT_OF(t->instructions); i++)
		segment_unref(t->instructions[i].text);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

struct task *task_new(struct agent_tree *t, const char *id)
{
	struct task *task = xcalloc(1, sizeof *task);

	task->tree = t;
	snprintf(task->id, sizeof task->id, "%s", id);
	id_uuid(task->run_id);
	task->run = 1;
	*t->tasks_end = task;
	t->tasks_end = &task->next;
	t->task_count++;
	map_set(&t->by_id, str_from(task->id), task);
	return task;
}

static int by_start(const void *a, const void *b)
{
	const struct task *x = *(const struct task *const *)a, *y = *(const struct task *const *)b;

	return (x->started_ms > y->started_ms) - (x->started_ms < y->started_ms);
}

void task_sort(struct agent_tree *t)
{
	struct task **all = xcalloc(t->task_count + 1, sizeof *all);
	size_t n = 0;

	for (struct task *task = t->tasks; task; task = task->next)
		all[n++] = task;
	qsort(all, n, sizeof *all, by_start);
	t->tasks_end = &t->tasks;
	for (size_t i = 0; i < n; i++) {
		*t->tasks_end = all[i];
		t->tasks_end = &all[i]->next;
	}
	*t->tasks_end = NULL;
	free(all);
}

/* Of several with one name the newest has it. */
struct task *agent_tree_task(struct agent_tree *t, struct str id_or_name)
{
	struct task *found = map_get(&t->by_id, id_or_name);

	if (found)
		return found;
	for (struct task *task = t->tasks; task; task = task->next)
		if (task->name && str_is(id_or_name, task->name))
			found = task;
	return found;
}

bool agent_tree_trusts_plugin(const struct agent_tree *t, const char *name)
{
	return t->trusts_plugin && name && t->trusts_plugin(t->data, name);
}

struct agent *agent_tree_find(struct agent_tree *t, const char *id)
{
	if (!id[0])
		return &t->main;
	struct task *task = map_get(&t->by_id, str_from(id));
	return task && task->live ? &task->live->agent : NULL;
}

void task_wait_add(struct task *task, struct task_wait *wait)
{
	wait->next = task->waits;
	task->waits = wait;
}

void task_wait_remove(struct task *task, struct task_wait *wait)
{
	for (struct task_wait **at = &task->waits; *at; at = &(*at)->next) {
		if (*at != wait)
			continue;
		*at = wait->next;
		return;
	}
}

void task_tell_waits(struct task *task)
{
	while (task->waits) {
		struct task_wait *wait = task->waits;
		task->waits = wait->next;
		wait->on_end(wait);
	}
}

/* Figures of one that runs are in its agent. */
void task_refresh(struct task *task)
{
	const struct agent *a = task->live ? &task->live->agent : NULL;

	if (!a)
		return;
	task->usage = a->usage;
	task->turns = a->turns;
	task->tool_uses = a->tool_uses;
	task->cost_usd = a->model ? model_cost_usd(a->model, &a->usage) : 0;
	snprintf(task->last_tool, sizeof task->last_tool, "%s", a->last_tool);
}

void task_tell(struct task *task, struct event_task *ret)
{
	int64_t end_ms = task->ended_ms ? task->ended_ms : id_wall_ms();

	task_refresh(task);
	*ret = (struct event_task){
		.run_id = task->run_id,
		.state = end_words(task->state)->state,
		.prompt = task->prompt,
		.model = task->model,
		.output_file = task->transcript,
		.last_tool = task->last_tool[0] ? task->last_tool : NULL,
		.worktree = task->worktree,
		.branch = task->branch,
		.verdict = task->verdict,
		.background = task->background,
		.usage = task->usage,
		.cost_usd = task->cost_usd,
		.turns = task->turns,
		.tool_uses = task->tool_uses,
		.duration_ms = (uint64_t)MAX(end_ms - task->started_ms, (int64_t)0),
	};
}

void task_describe(struct task *task, struct task_row *ret_row)
{
	task_refresh(task);
	*ret_row = (struct task_row){
		.session = task->tree->session_id,
		.agent = task->id,
		.parent = task->parent_id,
		.tool_use_id = task->tool_use_id,
		.type = task->type,
		.name = task->name,
		.description = task->description,
		.model = task->model,
		.depth = task->depth,
		.background = task->background,
		.state = end_words(task->state)->state,
		.started_ms = task->started_ms,
		.ended_ms = task->ended_ms,
		.turns = task->turns,
		.tool_uses = task->tool_uses,
		.input_tokens = task->usage.input,
		.output_tokens = task->usage.output,
		.cache_read_tokens = task->usage.cache_read,
		.cache_write_tokens = task->usage.cache_write,
		.cost_usd = task->cost_usd,
		.last_tool = task->last_tool,
		.worktree = task->worktree,
		.branch = task->branch,
		.transcript = task->transcript,
		.output = task->transcript,
		.verdict = task->verdict,
	};
}

void task_note(struct task *task)
{
	struct task_row row;

	if (!task->tree->state)
		return;
	task_describe(task, &row);
	state_put_task(task->tree->state, &row);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

unsigned agent_tree_background(const struct agent_tree *t)
{
	unsigned n = 0;

	for (const struct subagent *s = t->alive; s; s = s->next)
		n += s->task->background;
	return n;
}

void agent_tree_end(struct agent_tree *t, bool suspend)
{
	t->closing = t->closing || suspend;
	for (struct subagent *s = t->alive; s; s = s->next) {
		if (suspend)
			s->suspend_asked = true;
		else
			s->stop_asked = true;
		subagent_kick(s);
	}
}

void agent_tree_pause(struct agent_tree *t, bool on)
{
	query_pause(&t->main.query, on);
	for (struct subagent *s = t->alive; s; s = s->next)
		if (s->agent.query.config.loop)
			query_pause(&s->agent.query, on);
}

void agent_tree_tell_tasks(struct agent_tree *t)
{
	if (!t->tasks_changed)
		return;
	t->tasks_changed = false;
	t->on_event(t->data, &(struct event){ .kind = EVENT_TASKS_CHANGED, .agent = &t->main.who });
	timer_start(t->loop, &t->tasks_timer, TASKS_PAUSE_MS);
}

/* Who wants to know gets the whole list each time: with a thousand of them that cannot be for each one. */
void agent_tree_tasks_changed(struct agent_tree *t)
{
	t->tasks_changed = true;
	if (!timer_running(&t->tasks_timer) || !t->alive_count)
		agent_tree_tell_tasks(t);
}

/* ---- what they cost and were denied ------------------------------------------------------------------------------ */

static struct usage *spending_of(struct agent_tree *t, const char *model)
{
	for (size_t i = 0; i < t->spending_count; i++)
		if (!strcmp(t->spending[i].model, model))
			return &t->spending[i].usage;
	t->spending = xrealloc(t->spending, (t->spending_count + 1) * sizeof *t->spending);
	t->spending[t->spending_count] = (struct model_spending){ .model = xstrdup(model) };
	return &t->spending[t->spending_count++].usage;
}

void agent_tree_spend(struct agent_tree *t, struct budget *budget, const char *model, const struct usage *usage)
{
	usage_add(spending_of(t, model), usage);
	budget_spend(budget, model, usage);
}

double agent_tree_cost(const struct agent_tree *t)
{
	double usd = 0;

	for (size_t i = 0; i < t->spending_count; i++)
		usd += model_cost_usd(t->spending[i].model, &t->spending[i].usage);
	return usd;
}

void agent_tree_note_denial(struct agent_tree *t, const struct agent *a, const struct tool_call *call)
{
	struct str input = json_raw(call->input);

	t->denials = xrealloc(t->denials, (t->denial_count + 1) * sizeof *t->denials);
	struct denial *d = &t->denials[t->denial_count++];
	*d = (struct denial){ .tool = xstrdup(call->name), .id = xstrdup(call->id), .agent = xstrdup(a->who.id) };
	buf_add(&d->input, input.p, input.n);
}

void agent_tree_forget_denials(struct agent_tree *t)
{
	for (size_t i = 0; i < t->denial_count; i++) {
		free(t->denials[i].tool);
		free(t->denials[i].id);
		free(t->denials[i].agent);
		buf_release(&t->denials[i].input);
	}
	free(t->denials);
	t->denials = NULL;
	t->denial_count = 0;
}
