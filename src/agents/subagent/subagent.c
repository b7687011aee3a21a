/* SPDX-License-Identifier: MIT
 * subagent.c - drives a child through its phases. Callbacks record a fact and kick; every decision is in a step_ function.
 *
 *    STARTS --life[] is up--> RUNS <--notice, stop hook-- RESTS (its own children still work)
 *       |                      |  ------turn over------->  |
 *     failure, stop            +--> ENDS --ending[]--+
 *       +----------------------------------------> TEARDOWN --life[] down--> reported to its parent, freed
 *
 * A member of a team: RUNS --turn over--> ENDS --pausing[]--> WAITS --message--> RUNS; parked: WAITS --> TEARDOWN, its record stays */
#include "agents/subagent/subagent.h"
#include "agents/agent/hooks.h"
#include "agents/agent/record.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/context.h"

static void subagent_begin_end(struct agent *a, enum end_state end);

enum { STOPPED_HOOKS_MS = 5000 };

static void on_kick(struct kick *kick);
static void on_hooks_late(struct timer *timer);
static void on_patience_over(struct timer *timer);

/* ---- facts --------------------------------------------------------------------------------------------------- */

static void on_turn_end(struct agent *a)
{
	a->turn_over = true;
	agent_kick(a);
}

static void on_notice(struct agent *a)
{
	agent_kick(a);
}

/* ---- making and freeing ---------------------------------------------------------------------------------------- */

struct agent *subagent_new(struct agent *parent, struct agent_record *record, struct agent_definition *definition)
{
	struct agent *a = xcalloc(1, sizeof *a);
	struct agent_tree *t = parent->tree;

	agent_init(a, t, parent);
	a->on_turn_end = on_turn_end;
	a->on_notice = on_notice;
	a->is_fork = !definition;
	a->origin = !definition || definition->fork_context ? parent : NULL;
	a->who = (struct event_agent){ .id = record->id,
				       .type = record->type,
				       .name = record->name,
				       .description = record->description,
				       .tool_use_id = record->tool_use_id,
				       .parent_id = record->parent_id,
				       .depth = record->depth };
	a->record = record;
	a->definition = definition;
	a->kick.step = on_kick;
	a->hook_limit.fire = on_hooks_late;
	a->patience.fire = on_patience_over;
	record->live = a;
	record->state = AGENT_RUNNING;
	record->ended_ms = 0;
	parent->children++;
	a->next = t->alive;
	a->prev = &t->alive;
	if (t->alive)
		t->alive->prev = &a->next;
	t->alive = a;
	t->alive_count++;
	return a;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* Of one in the background: its call is over, and it is not yet. */
void subagent_launched(struct agent *a)
{
	if (a->record->member && a->call)
		a->tree->team_ops->spawned(TAKE(a->call), a->record);
	else if (a->record->background && a->call)
		report_launched(TAKE(a->call), a->record);
}

static void subagent_begin_end(struct agent *a, enum end_state end)
{
	a->end = end;
	/* A run of a member that ended by itself, well or not, leaves the member waiting. */
	a->pausing = a->record->member && a->lived && end != AGENT_KILLED && end != AGENT_SUSPENDED && !a->stop_asked &&
		     !a->suspend_asked && !a->leaves;
	a->phase = CHILD_ENDS;
	a->step = 0;
	a->in_step = false;
	for (struct agent *c = a->children ? a->tree->alive : NULL; c; c = c->next) {
		if (c->parent != a)
			continue;
		if (a->suspend_asked)
			c->suspend_asked = true;
		else
			c->stop_asked = true;
		agent_kick(c);
	}
	agent_kick(a);
}

/* Runs one step of a table: true when it is over, with its failure in *err. */
static bool run_step(struct agent *a, int (*fn)(struct agent *, struct err *), struct err *err)
{
	if (!a->in_step) {
		a->in_step = true;
		a->step_over = false;
		a->step_err = (struct err){ 0 };
		int status = fn ? fn(a, err) : 0;
		if (status == STEP_TAKES_TIME && !a->step_over)
			return false;
		if (status < 0)
			a->step_err = *err;
		a->step_over = true;
	}
	if (!a->step_over)
		return false;
	a->in_step = false;
	*err = a->step_err;
	return true;
}

static void on_hooks_late(struct timer *timer)
{
	struct agent *a = CONTAINER_OF(timer, struct agent, hook_limit);

	if (a->hook_batch)
		hook_cancel(a->hook_batch);
}

static void on_patience_over(struct timer *timer)
{
	struct agent *a = CONTAINER_OF(timer, struct agent, patience);

	if (a->phase == CHILD_RUNS || a->phase == CHILD_RESTS)
		(void)agent_to_background(a);
}

/* The stop hooks of an agent that is stopped get less time than others. */
static void limit_hooks(struct agent *a)
{
	if ((a->stop_asked || a->suspend_asked) && a->hook_batch && !timer_running(&a->hook_limit))
		timer_start(a->tree->services->loop, &a->hook_limit, STOPPED_HOOKS_MS);
}

static void begin_teardown(struct agent *a, enum end_state end)
{
	a->end = end;
	a->phase = CHILD_TEARDOWN;
	a->step = a->lived ? life_count : a->step;
	a->in_step = false;
}

static bool asked_to_end(const struct agent *a)
{
	return a->stop_asked || a->suspend_asked;
}

static void step_starts(struct agent *a)
{
	struct slot_pool *slots = &a->tree->slots;
	struct err err = { 0 };

	if (asked_to_end(a) && a->in_step && !a->step_over) { /* a step that waits is cut short; its end still comes */
		if (a->job)
			worktree_job_cancel(a->job);
		if (a->hook_batch)
			hook_cancel(a->hook_batch);
		agent_stop_awaiting_servers(a);
		preload_stop(a->preload);
		if (a->query.agent_slot.waiting) {
			slot_leave(slots, &a->query.agent_slot);
			agent_step_done(a, NULL);
		}
	}
	while (a->step < life_count) {
		if (!run_step(a, life[a->step].up, &err)) {
			if (slots->taken + slots->waiting > slots->cap && a->query.agent_slot.waiting && !a->origin)
				subagent_launched(a); /* its call need not wait for a slot */
			return;
		}
		if (err.kind) {
			if (!a->failure.n)
				buf_addstr(&a->failure, err.text);
			begin_teardown(a, asked_to_end(a) ? (a->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED)
							  : AGENT_FAILED);
			return;
		}
		a->step++;
		if (asked_to_end(a)) {
			begin_teardown(a, a->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED);
			return;
		}
	}
	a->lived = true;
	if (a->load)
		agent_tree_restore(a, &a->load->delivered);
	if (child_initial_messages(a, &err) < 0) {
		buf_addf(&a->failure, "%s", err.text);
		subagent_begin_end(a, AGENT_FAILED);
		return;
	}
	subagent_launched(a);
	a->phase = CHILD_RUNS;
	if (a->call && a->tree->switches.patience_ms)
		timer_start(a->tree->services->loop, &a->patience, a->tree->switches.patience_ms);
	if (!a->turn_over)
		query_start(&a->query);
}

static void step_runs(struct agent *a)
{
	struct query *q = &a->query;

	if (asked_to_end(a) && q->state != QUERY_IDLE)
		query_cancel(q);
	if (!a->turn_over)
		return;
	a->turn_over = false;
	if (query_wants_turn(q) && q->end == QUERY_DONE && !asked_to_end(a)) {
		agent_leave_fallback(a);
		agent_leave_turn_model(a);
		query_start(q);
		return;
	}
	if (a->children && q->end == QUERY_DONE && !asked_to_end(a)) {
		a->phase = CHILD_RESTS;
		slot_leave(&a->tree->slots, &q->agent_slot);
		return;
	}
	end_reason(&a->failure, q);
	subagent_begin_end(a, a->suspend_asked ? AGENT_SUSPENDED : end_state_of(q));
}

/* Its children work. It continues when one of them sends a notice, and ends when none is left. */
static void step_rests(struct agent *a)
{
	if (asked_to_end(a)) {
		subagent_begin_end(a, a->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED);
	} else if (query_wants_turn(&a->query)) {
		a->phase = CHILD_RUNS;
		agent_leave_fallback(a);
		agent_leave_turn_model(a);
		query_start(&a->query);
	} else if (!a->children) {
		subagent_begin_end(a, AGENT_COMPLETED);
	}
}

/* ---- a member between two runs ------------------------------------------------------------------------------------ */

static void begin_wait(struct agent *a)
{
	a->pausing = false;
	a->phase = CHILD_WAITS;
	a->stop_blocks = 0;
	a->tree->idle_count++;
	slot_leave(&a->tree->slots, &a->query.agent_slot);
	buf_clear(&a->failure);
	agent_record_note(a->record);
	a->tree->team_ops->waits(a);
	buf_release(&a->record->report);
	agent_record_end_waits(a->record);
	agent_tree_tasks_changed(a->tree);
	agent_kick(a);
	if (a->tree->on_idle && a->tree->idle_count == a->tree->alive_count)
		a->tree->on_idle(a->tree);
}

static void step_waits(struct agent *a)
{
	struct err err = { 0 };

	if (!a->waking && (a->leaves || a->stop_asked)) {
		a->tree->idle_count--;
		subagent_begin_end(a, a->leaves ? AGENT_COMPLETED : AGENT_KILLED);
		return;
	}
	if (!a->waking && !a->suspend_asked && query_wants_turn(&a->query)) {
		a->park_asked = false;
		/* The number of the run is on disk before the run does anything, so that its end differs from earlier ones. A disk that fails
		 * stops the request, too, and that is reported. */
		struct agent_record *t = a->record;
		struct err ignored = { 0 };

		a->waking = true;
		a->in_step = false;
		t->run++;
		t->message = NULL;
		t->failure = NULL;
		t->state = AGENT_RUNNING;
		t->ended_ms = 0;
		id_uuid(t->run_id);
		buf_clear(&a->start_context);
		(void)meta_write(t, &ignored);
		a->tree->team_ops->works(a);
		agent_tree_tasks_changed(a->tree);
	} else if (!a->waking && (a->park_asked || a->suspend_asked)) {
		a->tree->idle_count--;
		begin_teardown(a, AGENT_IDLE);
		return;
	}
	if (!a->waking || !run_step(a, agent_start_hooks, &err))
		return;
	a->waking = false;
	a->tree->idle_count--;
	a->phase = CHILD_RUNS;
	if (a->start_context.n)
		(void)agent_remind(a, buf_str(&a->start_context), &err);
	agent_leave_fallback(a);
	agent_leave_turn_model(a);
	query_start(&a->query);
}

void agent_park(struct agent *a)
{
	a->park_asked = true;
	agent_kick(a);
}

void agent_shut_down(struct agent *a)
{
	a->leaves = true;
	agent_kick(a);
}

static void step_ends(struct agent *a)
{
	struct err err = { 0 };

	if (a->children)
		return; /* no child outlives its parent */
	while (a->step < (a->pausing ? pausing_count : ending_count)) {
		if (!run_step(a, (a->pausing ? pausing : ending)[a->step].run, &err)) {
			limit_hooks(a);
			return;
		}
		if (a->stop_blocked) {
			a->stop_blocked = false;
			a->phase = CHILD_RUNS;
			(void)agent_remind(a, buf_str(&a->message), &err);
			query_continue(&a->query);
			return;
		}
		a->step++;
	}
	if (a->pausing)
		begin_wait(a);
	else
		begin_teardown(a, a->end);
}

/* The step that failed undid itself; those before it are taken down, last first. Then the child is freed. */
static void step_teardown(struct agent *a)
{
	struct agent_tree *t = a->tree;
	struct agent *parent = a->parent;
	struct agent_record *record = a->record;
	struct err err = { 0 };

	while (a->step > 0) {
		if (!run_step(a, life[a->step - 1].down, &err)) {
			limit_hooks(a);
			return;
		}
		a->step--;
	}
	agent_record_refresh(record);
	*a->prev = a->next;
	if (a->next)
		a->next->prev = a->prev;
	t->alive_count--;
	parent->children--;
	record->live = NULL;
	if (a->end == AGENT_IDLE)
		record->member->state = record->member->failed ? MEMBER_FAILED : MEMBER_PARKED;
	else
		subagent_report_end(a);
	kick_cancel(&a->kick);
	timer_stop(t->services->loop, &a->hook_limit);
	timer_stop(t->services->loop, &a->patience);
	agent_release(a);
	free(a);
	agent_record_end_waits(record);
	if (parent->parent)
		agent_kick(parent);
	if (!t->alive_count)
		agent_tree_notify_tasks(t);
	if (t->alive_count == t->idle_count && t->on_idle)
		t->on_idle(t);
}

static void on_kick(struct kick *kick)
{
	struct agent *a = CONTAINER_OF(kick, struct agent, kick);

	if (a->phase == CHILD_STARTS)
		step_starts(a);
	if (a->phase == CHILD_RUNS)
		step_runs(a);
	if (a->phase == CHILD_RESTS)
		step_rests(a);
	if (a->phase == CHILD_WAITS)
		step_waits(a);
	if (a->phase == CHILD_ENDS)
		step_ends(a);
	if (a->phase == CHILD_TEARDOWN)
		step_teardown(a);
}
