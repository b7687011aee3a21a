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
#include "lib/base/list.h"
#include "lib/base/crash.h"

/* The one order of every end: stop hooks, its processes, the worktree decision, the end on disk; then life[] is
 * taken down, and last its parent gets the report. */

static int record_end(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf fields = { 0 };
	struct agent_record *t = a->record;

	agent_record_refresh(t);
	t->state = a->pausing && a->end == AGENT_COMPLETED ? AGENT_IDLE : a->end;
	t->ended_ms = id_wall_ms();
	if (t->member && !a->pausing && a->end != AGENT_SUSPENDED)
		t->member->state = MEMBER_GONE;
	if (a->end == AGENT_SUSPENDED)
		return meta_write(t, err);
	/* The last text counts, even if it is from an earlier turn. */
	struct str text = str_trim(buf_str(&a->query.text));
	buf_clear(&t->report);
	if (end_states[a->end].has_report && text.n)
		buf_add(&t->report, text.p, text.n);
	else if (end_states[a->end].has_report)
		agent_last_text(&t->report, &a->query.transcript);
	t->verdict = report_verdict(buf_str(&t->report));
	t->failure = a->failure.n ? arena_strdup(&t->arena, a->failure.p) : NULL;
	end_write(&fields, t);
	int status = recorder_end(&a->recorder, buf_str(&fields), err);
	crash_point(agent_end_recorded);
	return status < 0 ? status : meta_write(t, err);
}

static void on_lines_safe(struct kick *kick)
{
	agent_step_done(CONTAINER_OF(kick, struct agent, sync_kick), NULL);
}

/* Its transcript must survive a power cut before its worktree is removed. A disk that fails here is not a reason to keep the
 * worktree: the next line of the transcript fails as well, and that is reported. */
static int sync_lines(struct agent *a, struct err *err)
{
	struct err ignored = { 0 };

	a->sync_kick.step = on_lines_safe;
	if (!a->worktree || !a->journal || journal_sync(a->journal, &a->sync_kick, &ignored) != 0)
		return 0;
	return STEP_TAKES_TIME;
}

typedef int end_step_fn(struct agent *a, struct err *err);
static end_step_fn *const ending[] = { agent_stop_hooks, agent_end_shells, sync_lines, agent_release_worktree,
				       record_end };
static const size_t ending_count = COUNT_OF(ending);

/* Start and stop hooks of a run are pairs: the end of the member itself does not run them again. */
static int pause_team(struct agent *a, struct err *err)
{
	a->start_fired = false;
	return a->end == AGENT_COMPLETED ? a->tree->team_ops->run_over(a, err) : 0;
}

static end_step_fn *const pausing[] = { agent_stop_hooks, pause_team, record_end };
static const size_t pausing_count = COUNT_OF(pausing);

/* For observers, whether or not a call waited */
static void announce_end(struct agent_record *t)
{
	struct event_task task;
	struct event_agent who = agent_record_who(t);

	agent_record_event(t, &task);
	t->tree->on_event(t->tree->data, &(struct event){ .kind = EVENT_NOTIFICATION,
							  .agent = &who,
							  .task = &task,
							  .text = buf_str(&t->report) });
}

static void deliver_end(struct agent_record *t, struct agent *parent, struct str notes)
{
	AUTO_BUF struct buf message = { 0 };
	AUTO_BUF struct buf text = { 0 };
	char id[AGENT_NOTICE_LEN];

	buf_addf(&message, "Agent \"%s\" %s", t->description, end_states[t->state].summary);
	agent_notify_hooksf(parent, HOOK_NOTIFICATION, "agent_completed",
			    "{message:'%s', title:'%s', notification_type:'agent_completed'}", message.p, t->type);
	report_notification(&text, t, notes);
	agent_record_notice_id(t, id);
	crash_point(notice_queued);
	agent_notice(parent, id, buf_str(&text));
}

void agent_record_notify(struct agent_record *t, struct agent *parent)
{
	announce_end(t);
	deliver_end(t, parent, STR(""));
}

static void subagent_report_end(struct agent *a)
{
	struct agent_record *t = a->record;
	struct err err = { 0 };

	if (!a->lived) { /* its start failed: no end is in its transcript */
		t->state = a->end;
		if (t->member && a->end != AGENT_SUSPENDED)
			t->member->state = MEMBER_GONE;
		t->ended_ms = id_wall_ms();
		t->failure =
			arena_strdup(&t->arena, a->failure.n ? a->failure.p : "it was stopped before it had begun");
		(void)meta_write(t, &err); /* the parent's transcript has the call and its result */
	}
	if (a->lived || !a->call)
		announce_end(t);
	if (t->background)
		agent_tree_tasks_changed(t->tree);
	if (a->call && !a->lived)
		tool_call_fail(TAKE(a->call), "%s", t->failure);
	else if (a->call)
		report_completed(TAKE(a->call), t, buf_str(&a->notes));
	else if (a->end != AGENT_SUSPENDED && !t->member)
		deliver_end(t, a->parent, buf_str(&a->notes));
	if (t->member && a->end != AGENT_SUSPENDED)
		t->tree->team_ops->gone(t);
	buf_release(&t->report);
}

enum { STOPPED_HOOKS_MS = 5000 };

static void on_kick(struct kick *kick);
static void on_hooks_late(struct timer *timer);
static void on_patience_over(struct timer *timer);

static void on_turn_end(struct agent *a)
{
	a->turn_over = true;
	agent_kick(a);
}

static void on_notice(struct agent *a)
{
	agent_kick(a);
}

struct agent *subagent_new(struct agent *parent, struct agent_record *record, struct agent_definition *definition)
{
	struct agent *a = xcalloc(1, sizeof *a);
	struct agent_tree *t = parent->tree;

	agent_init(a, t, parent);
	a->on_turn_end = on_turn_end;
	a->on_notice = on_notice;
	a->is_fork = !definition;
	a->origin = !definition || definition->fork_context ? parent : NULL;
	a->who = agent_record_who(record);
	a->record = record;
	a->definition = definition;
	a->kick.step = on_kick;
	if (record->member) { /* for its commands and hooks; read by nothing here */
		const char **own = arena_calloc(&a->arena, 4 * sizeof *own);
		own[0] = arena_printf(&a->arena, "CLAUDE_CODE_TEAM_NAME=%s", record->member->team);
		own[1] = arena_printf(&a->arena, "CLAUDE_CODE_AGENT_NAME=%s", record->name);
		own[2] = arena_printf(&a->arena, "CLAUDE_CODE_AGENT_ID=%s@%s", record->name, record->member->team);
		a->env.own = own;
	}
	a->hook_limit.fire = on_hooks_late;
	a->patience.fire = on_patience_over;
	record->live = a;
	record->state = AGENT_RUNNING;
	record->ended_ms = 0;
	parent->children++;
	list_push(&t->alive, a);
	t->alive_count++;
	return a;
}

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

static enum end_state asked_end(const struct agent *a) /* AGENT_RUNNING: it was not asked to end */
{
	return a->suspend_asked ? AGENT_SUSPENDED : a->stop_asked ? AGENT_KILLED : AGENT_RUNNING;
}

static void begin_turn(struct agent *a) /* the one before is over */
{
	agent_leave_turn_models(a);
	query_start(&a->query);
}

static void step_starts(struct agent *a)
{
	struct slot_pool *slots = &a->tree->slots;
	struct err err = { 0 };

	if (asked_end(a) && a->in_step && !a->step_over) { /* a step that waits is cut short; its end still comes */
		session_load_stop(a->loading);
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
			begin_teardown(a, asked_end(a) ? asked_end(a) : AGENT_FAILED);
			return;
		}
		a->step++;
		if (asked_end(a)) {
			begin_teardown(a, asked_end(a));
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
	if (a->record->member)
		a->record->member->state = MEMBER_WORKS;
	if (a->call && a->tree->switches.patience_ms)
		timer_start(a->tree->services->loop, &a->patience, a->tree->switches.patience_ms);
	if (!a->turn_over)
		query_start(&a->query);
}

static void step_runs(struct agent *a)
{
	struct query *q = &a->query;

	if (asked_end(a) && q->state != QUERY_IDLE)
		query_cancel(q);
	if (!a->turn_over)
		return;
	a->turn_over = false;
	if (query_wants_turn(q) && q->end == QUERY_DONE && !asked_end(a)) {
		begin_turn(a);
		return;
	}
	if (a->children && q->end == QUERY_DONE && !asked_end(a)) {
		a->phase = CHILD_RESTS;
		slot_leave(&a->tree->slots, &q->agent_slot);
		return;
	}
	if (q->end == QUERY_HALTED && a->record->member && a->record->member->plan && !asked_end(a)) {
		subagent_begin_end(a, AGENT_COMPLETED); /* it submitted a plan: the run is over, and nothing failed */
		return;
	}
	end_reason(&a->failure, q);
	subagent_begin_end(a, a->suspend_asked ? AGENT_SUSPENDED : end_state_of(q));
}

/* Its children work. It continues when one of them sends a notice, and ends when none is left. */
static void step_rests(struct agent *a)
{
	if (asked_end(a)) {
		subagent_begin_end(a, asked_end(a));
	} else if (query_wants_turn(&a->query)) {
		a->phase = CHILD_RUNS;
		begin_turn(a);
	} else if (!a->children) {
		subagent_begin_end(a, AGENT_COMPLETED);
	}
}

static void begin_wait(struct agent *a)
{
	a->pausing = false;
	a->phase = CHILD_WAITS;
	a->stop_blocks = 0;
	a->tree->idle_count++;
	slot_leave(&a->tree->slots, &a->query.agent_slot);
	buf_clear(&a->failure);
	a->tree->team_ops->waits(a);
	buf_release(&a->record->report);
	agent_record_end_waits(a->record);
	agent_tree_tasks_changed(a->tree);
	agent_kick(a);
	if (a->tree->idle_count == a->tree->alive_count)
		agent_tree_kick(a->tree);
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
		a->tree->idle_count--; /* hooks may run for long before it does */
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
		if (a->children)
			return; /* one that had ended got a message: no child outlives its parent */
		a->tree->idle_count--;
		begin_teardown(a, AGENT_IDLE);
		return;
	}
	if (!a->waking || !run_step(a, agent_start_hooks, &err))
		return;
	a->waking = false;
	a->phase = CHILD_RUNS;
	if (a->start_context.n)
		(void)agent_remind(a, buf_str(&a->start_context), &err);
	begin_turn(a);
}

static void step_ends(struct agent *a)
{
	struct err err = { 0 };

	if (a->children)
		return; /* no child outlives its parent */
	while (a->step < (a->pausing ? pausing_count : ending_count)) {
		if (!run_step(a, (a->pausing ? pausing : ending)[a->step], &err)) {
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
	list_remove(a);
	t->alive_count--;
	parent->children--;
	record->live = NULL;
	if (a->end == AGENT_IDLE)
		record->member->state = record->member->plan     ? MEMBER_AWAITS
					: record->member->failed ? MEMBER_FAILED
								 : MEMBER_PARKED;
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
	if (t->alive_count == t->idle_count)
		agent_tree_kick(t);
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
