/* SPDX-License-Identifier: MIT
 * tree.c - all agents of one session. */
#include "agents/agent/tree.h"
#include "config/settings/instructions.h"
#include <assert.h>
#include "core/model/catalog.h"
#include "defs/policy/plugins.h"
#include "defs/policy/sources.h"
#include "lib/base/list.h"

enum { TASKS_PAUSE_MS = 100 };

static void on_tasks_timer(struct timer *timer)
{
	agent_tree_notify_tasks(CONTAINER_OF(timer, struct agent_tree, tasks_timer));
}

void agent_tree_open(struct agent_tree *t)
{
	t->records_end = &t->records;
	if (!t->policy)
		t->policy = &t->services->policy;
	t->tasks_timer.fire = on_tasks_timer;
	slot_pool_init(&t->slots, t->services->loop, t->limits.alive);
	agent_init(&t->main, t, NULL);
	list_push(&t->services->trees, t);
}

void agent_tree_release(struct agent_tree *t)
{
	if (t->prev) { /* NULL: it was not opened, or only has records */
		list_remove(t);
	}
	buf_release(&t->hook_notes);
	for (size_t i = 0; i < t->recent_prompts.count; i++)
		free(t->recent_prompts.texts[i]);
	assert(!t->alive);
	if (t->services && t->services->loop)
		timer_stop(t->services->loop, &t->tasks_timer);
	agent_release(&t->main);
	tool_set_release(&t->pool);
	for (struct agent_record *record; (record = list_pop(&t->records));) {
		assert(!record->live && !record->waits);
		buf_release(&record->report);
		arena_release(&record->arena);
		free(record);
	}
	arena_release(&t->policy_arena);
	map_release(&t->by_id);
	map_release(&t->old_notices);
	assert(!t->slots.taken && !t->slots.waiting);
	kick_cancel(&t->slots.kick);
	agent_tree_forget_denials(t);
	head_unref(t->agent_definition);
	for (size_t i = 0; i < t->skill_hook_count; i++)
		hook_set_unref(t->skill_hooks[i].set);
	for (size_t i = 0; i < COUNT_OF(t->instructions); i++)
		segment_unref(t->instructions[i].text);
	if (t->instruction_rules)
		instruction_rules_release(t->instruction_rules);
	free(t->instruction_rules);
}

struct agent_record *agent_record_new(struct agent_tree *t, const char *id)
{
	struct agent_record *record = xnew(struct agent_record, .tree = t);

	snprintf(record->id, sizeof record->id, "%s", id);
	id_uuid(record->run_id);
	record->run = 1;
	*t->records_end = record;
	t->records_end = &record->next;
	t->record_count++;
	map_set(&t->by_id, str_from(record->id), record);
	return record;
}

static int by_start(const void *a, const void *b)
{
	const struct agent_record *x = *(const struct agent_record *const *)a,
				  *y = *(const struct agent_record *const *)b;

	if (x->started_ms == y->started_ms) /* a child that starts in the millisecond of its parent */
		return (x->depth > y->depth) - (x->depth < y->depth);
	return x->started_ms > y->started_ms ? 1 : -1;
}

void agent_tree_sort_records(struct agent_tree *t)
{
	struct agent_record **all = xcalloc(t->record_count + 1, sizeof *all);
	size_t n = 0;

	for (struct agent_record *record = t->records; record; record = record->next)
		all[n++] = record;
	qsort(all, n, sizeof *all, by_start);
	t->records_end = &t->records;
	for (size_t i = 0; i < n; i++) {
		*t->records_end = all[i];
		t->records_end = &all[i]->next;
	}
	*t->records_end = NULL;
	free(all);
}

/* If several have the name, the newest one has it; a member that has ended yields to one that has not. */
struct agent_record *agent_tree_member(struct agent_tree *t, struct str name)
{
	struct agent_record *found = NULL;

	for (struct agent_record *r = t->records; r; r = r->next)
		if (r->member && str_is_nocase(name, r->name) &&
		    (!found || r->member->state != MEMBER_GONE || found->member->state == MEMBER_GONE))
			found = r;
	return found;
}

struct agent_record *agent_tree_record(struct agent_tree *t, struct str id_or_name)
{
	struct agent_record *found = map_get(&t->by_id, id_or_name);

	for (struct agent_record *record = found ? NULL : t->records; record; record = record->next)
		if (record->name && str_is(id_or_name, record->name))
			found = record;
	if (found)
		return found;
	struct str team = id_or_name, name = str_cut(&team, '@'); /* a member: in any case, and NAME@TEAM */
	found = agent_tree_member(t, name);
	return found && (!team.p || str_is(team, found->member->team)) ? found : NULL;
}

bool agent_tree_bars(const struct agent_tree *t, enum definition_source source, const char *kind)
{
	return (source == SOURCE_USER || source == SOURCE_PROJECT || source == SOURCE_FLAG) &&
	       policy_plugins_only(t->policy->settings, kind);
}

bool agent_tree_trusts_definition(const struct agent_tree *t, const struct definition *d)
{
	return services_believe(t->policy->settings, d);
}

void agent_wait_remove(struct agent_record *record, struct agent_wait *wait)
{
	list_drop(&record->waits, wait);
}

void agent_record_end_waits(struct agent_record *record)
{
	for (struct agent_wait *wait; (wait = list_pop(&record->waits));)
		wait->on_end(wait);
}

/* Figures of one that runs are in its agent. */
void agent_record_refresh(struct agent_record *record)
{
	const struct agent *a = record->live;

	if (!a)
		return;
	record->usage = a->usage;
	record->turns = a->turns;
	record->tool_uses = a->tool_uses;
	record->cost_usd = a->cost_usd;
	snprintf(record->last_tool, sizeof record->last_tool, "%s", a->last_tool);
}

void agent_record_event(struct agent_record *record, struct event_task *ret)
{
	int64_t end_ms = record->ended_ms ? record->ended_ms : id_wall_ms();

	agent_record_refresh(record);
	*ret = (struct event_task){
		.run_id = record->run_id,
		.state = end_states[record->state].state,
		.team = record->member ? record->member->team : NULL,
		.member = record->member ? member_state_name(record->member->state) : NULL,
		.prompt = record->prompt,
		.model = record->model,
		.output_file = record->transcript,
		.last_tool = record->last_tool[0] ? record->last_tool : NULL,
		.worktree = record->worktree,
		.branch = record->branch,
		.verdict = record->verdict,
		.background = record->background,
		.usage = record->usage,
		.cost_usd = record->cost_usd,
		.turns = record->turns,
		.tool_uses = record->tool_uses,
		.duration_ms = (uint64_t)MAX(end_ms - record->run_started_ms, (int64_t)0),
	};
}

struct event_agent agent_record_who(const struct agent_record *record)
{
	return (struct event_agent){ .id = record->id,
				     .type = record->type,
				     .name = record->name,
				     .description = record->description,
				     .tool_use_id = record->tool_use_id,
				     .parent_id = record->parent_id,
				     .team = record->member ? record->member->team : NULL,
				     .depth = record->depth };
}

const char *member_state_name(enum member_state state)
{
	static const char *const names[] = { "starting", "running", "awaiting", "idle", "idle", "failed", "gone" };

	return names[state];
}

void agent_record_row(struct agent_record *record, struct task_row *ret_row)
{
	const struct agent_member *m = record->member;
	bool waits = m && m->state != MEMBER_GONE && m->state != MEMBER_STARTS && m->state != MEMBER_WORKS;

	agent_record_refresh(record);
	*ret_row = (struct task_row){
		.session = record->tree->session_id,
		.agent = record->id,
		.parent = record->parent_id,
		.tool_use_id = record->tool_use_id,
		.type = record->type,
		.name = record->name,
		.description = record->description,
		.model = record->model,
		.depth = record->depth,
		.background = record->background,
		.state = waits ? member_state_name(m->state) : end_states[record->state].state,
		.team = m ? m->team : NULL,
		.unread = record->live     ? record->live->query.notice_count
			  : record->member ? record->member->unread
					   : 0,
		.started_ms = record->started_ms,
		.ended_ms = record->ended_ms,
		.turns = record->turns,
		.tool_uses = record->tool_uses,
		.input_tokens = record->usage.input,
		.output_tokens = record->usage.output,
		.cache_read_tokens = record->usage.cache_read,
		.cache_write_tokens = record->usage.cache_write,
		.cost_usd = record->cost_usd,
		.last_tool = record->last_tool,
		.worktree = record->worktree,
		.branch = record->branch,
		.transcript = record->transcript,
		.verdict = record->verdict,
	};
}

void agent_tree_suspend(struct agent_tree *t)
{
	t->closing = true;
	for (struct agent *a = t->alive; a; a = a->next) {
		a->suspend_asked = true;
		agent_kick(a);
	}
}

void agent_tree_notify_tasks(struct agent_tree *t)
{
	if (!t->tasks_changed)
		return;
	t->tasks_changed = false;
	t->on_event(t->data, &(struct event){ .kind = EVENT_TASKS_CHANGED, .agent = &t->main.who });
	timer_start(t->services->loop, &t->tasks_timer, TASKS_PAUSE_MS);
}

/* The event makes hosts read the whole list: with a thousand agents that is too much for each change. */
void agent_tree_tasks_changed(struct agent_tree *t)
{
	t->tasks_changed = true;
	if (!timer_running(&t->tasks_timer) || !t->alive_count)
		agent_tree_notify_tasks(t);
}

double agent_tree_spend(struct agent_tree *t, struct budget *budget, const char *model, const struct usage *usage)
{
	double usd = model_cost_usd(&t->services->endpoints.providers, model, usage);
	size_t i = 0;

	while (i < t->spending_count && strcmp(t->spending[i].model, model) != 0)
		i++;
	if (i == t->spending_count)
		*arena_push(t->arena, t->spending, t->spending_count) =
			(struct model_spending){ .model = arena_strdup(t->arena, model) };
	usage_add(&t->spending[i].usage, usage);
	t->spending[i].usd += usd; /* of each request: prices have tiers */
	budget_spend(budget, usd, usage);
	return usd;
}

double agent_tree_cost(const struct agent_tree *t)
{
	double usd = 0;

	for (size_t i = 0; i < t->spending_count; i++)
		usd += t->spending[i].usd;
	return usd;
}

void agent_tree_forget_denials(struct agent_tree *t)
{
	arena_release(&t->denial_arena);
	t->denials = NULL;
	t->denial_count = 0;
}
