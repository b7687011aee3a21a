/* SPDX-License-Identifier: MIT
 * subagent.c - drives a child through its phases. Callbacks record a fact and kick; every decision is in step().
 *
 *    STARTS --life[] is up--> RUNS <--notice, stop hook-- RESTS (its own children still work)
 *       |                      |  ------turn over------->  |
 *     failure, stop            +--> ENDS --ending[]--+
 *       +----------------------------------------> TEARDOWN --life[] down--> its parent is told, freed */
#include "agents/agent/subagent.h"
#include "agents/agent/servers.h"
#include "agents/agent/preload.h"
#include "agents/agent/report.h"

enum { STOPPED_HOOKS_MS = 5000 };

static void on_kick(struct kick *kick);
static void on_hooks_late(struct timer *timer);

void subagent_kick(struct subagent *s)
{
	loop_kick(s->agent.tree->loop, &s->kick);
}

/* ---- facts --------------------------------------------------------------------------------------------------- */

static void on_turn_end(struct agent *a)
{
	a->child->turn_over = true;
	subagent_kick(a->child);
}

static void on_notice(struct agent *a)
{
	subagent_kick(a->child);
}

void subagent_step_done(struct subagent *s, const struct err *err)
{
	s->step_over = true;
	if (err)
		s->step_err = *err;
	subagent_kick(s);
}

void subagent_progress(struct subagent *s)
{
	struct event_task task;

	agent_record_event(s->record, &task);
	agent_emit(&s->agent, &(struct event){ .kind = EVENT_AGENT_PROGRESS, .task = &task });
	agent_record_note(s->record);
}

/* ---- making and freeing ---------------------------------------------------------------------------------------- */

struct subagent *subagent_new(struct agent *parent, struct agent_record *record, struct agent_definition *definition)
{
	struct subagent *s = xcalloc(1, sizeof *s);
	struct agent_tree *t = parent->tree;

	agent_init(&s->agent, t, parent);
	s->agent.child = s;
	s->agent.on_turn_end = on_turn_end;
	s->agent.on_notice = on_notice;
	s->agent.is_fork = !definition;
	s->agent.who = (struct event_agent){ .id = record->id,
					     .type = record->type,
					     .name = record->name,
					     .description = record->description,
					     .tool_use_id = record->tool_use_id,
					     .parent_id = record->parent_id,
					     .depth = record->depth };
	s->record = record;
	s->definition = definition;
	s->kick.step = on_kick;
	s->hook_limit.fire = on_hooks_late;
	record->live = s;
	record->state = AGENT_RUNNING;
	record->ended_ms = 0;
	parent->children++;
	s->next = t->alive;
	s->prev = &t->alive;
	if (t->alive)
		t->alive->prev = &s->next;
	t->alive = s;
	t->alive_count++;
	return s;
}

/* It is no longer among those who work. */
static void subagent_unlink(struct subagent *s)
{
	agent_record_refresh(s->record);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->agent.tree->alive_count--;
	s->agent.parent->children--;
	s->record->live = NULL;
}

static void subagent_free(struct subagent *s)
{
	kick_cancel(&s->kick);
	timer_stop(s->agent.tree->loop, &s->hook_limit);
	if (s->load) {
		session_load_release(s->load);
		free(s->load);
	}
	worktree_free(s->worktree);
	tool_choice_release(&s->choice);
	buf_release(&s->failure);
	buf_release(&s->message);
	buf_release(&s->system);
	buf_release(&s->notes);
	buf_release(&s->skills);
	buf_release(&s->initial);
	buf_release(&s->start_context);
	buf_release(&s->start_refusal);
	agent_unref(s->definition);
	agent_release(&s->agent);
	free(s);
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void begin(struct subagent *s)
{
	struct err err = { 0 };

	s->lived = true;
	if (subagent_initial_messages(s, &err) < 0) {
		buf_addf(&s->failure, "%s", err.text);
		subagent_begin_end(s, AGENT_FAILED);
		return;
	}
	subagent_launched(s);
	s->phase = CHILD_RUNS;
	if (!s->turn_over)
		query_start(&s->agent.query);
}

/* Of one in the background: its call is over, and it is not yet. */
void subagent_launched(struct subagent *s)
{
	if (s->record->background && s->call)
		report_launched(TAKE(s->call), s->record);
}

void subagent_begin_end(struct subagent *s, enum end_state end)
{
	s->end = end;
	s->phase = CHILD_ENDS;
	s->step = 0;
	s->in_step = false;
	for (struct subagent *c = s->agent.children ? s->agent.tree->alive : NULL; c; c = c->next) {
		if (c->agent.parent != &s->agent)
			continue;
		if (s->suspend_asked)
			c->suspend_asked = true;
		else
			c->stop_asked = true;
		subagent_kick(c);
	}
	subagent_kick(s);
}

/* Runs one step of a table: true when it is over, with its failure in *err. */
static bool run_step(struct subagent *s, int (*fn)(struct subagent *, struct err *), struct err *err)
{
	if (!s->in_step) {
		s->in_step = true;
		s->step_over = false;
		s->step_err = (struct err){ 0 };
		int status = fn ? fn(s, err) : 0;
		if (status == STEP_TAKES_TIME && !s->step_over)
			return false;
		if (status < 0)
			s->step_err = *err;
		s->step_over = true;
	}
	if (!s->step_over)
		return false;
	s->in_step = false;
	*err = s->step_err;
	return true;
}

/* A step that waits is cut short; its end still comes. */
static void expedite_step(struct subagent *s)
{
	if (s->job)
		worktree_job_cancel(s->job);
	if (s->firing)
		hook_cancel(s->firing);
	subagent_stop_waiting(s);
	preload_stop(s->preload);
	if (s->agent.query.agent_slot.waiting) {
		slot_leave(&s->agent.tree->slots, &s->agent.query.agent_slot);
		subagent_step_done(s, NULL);
	}
}

static void on_hooks_late(struct timer *timer)
{
	struct subagent *s = CONTAINER_OF(timer, struct subagent, hook_limit);

	if (s->firing)
		hook_cancel(s->firing);
}

/* Whoever stops an agent does not wait for its stop hooks as long as they may take otherwise. */
static void limit_hooks(struct subagent *s)
{
	if ((s->stop_asked || s->suspend_asked) && s->firing && !timer_running(&s->hook_limit))
		timer_start(s->agent.tree->loop, &s->hook_limit, STOPPED_HOOKS_MS);
}

static bool go_down(struct subagent *s);

static void begin_teardown(struct subagent *s, enum end_state end)
{
	s->end = end;
	s->phase = CHILD_TEARDOWN;
	s->step = s->lived ? life_count : s->step;
	s->in_step = false;
}

static bool asked_to_end(const struct subagent *s)
{
	return s->stop_asked || s->suspend_asked;
}

static void go_up(struct subagent *s)
{
	struct err err = { 0 };

	if (asked_to_end(s) && s->in_step && !s->step_over)
		expedite_step(s);
	while (s->step < life_count) {
		if (!run_step(s, life[s->step].up, &err))
			return;
		if (err.kind) {
			if (!s->failure.n)
				buf_addstr(&s->failure, err.text);
			begin_teardown(s, asked_to_end(s) ? (s->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED)
							  : AGENT_FAILED);
			return;
		}
		s->step++;
		if (asked_to_end(s)) {
			begin_teardown(s, s->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED);
			return;
		}
	}
	begin(s);
}

static void turn_over(struct subagent *s)
{
	struct query *q = &s->agent.query;

	if (q->notice_count && q->end == QUERY_DONE && !asked_to_end(s)) {
		agent_leave_fallback(&s->agent);
		agent_leave_turn_model(&s->agent);
		query_start(q);
		return;
	}
	if (s->agent.children && q->end == QUERY_DONE && !asked_to_end(s)) {
		s->phase = CHILD_RESTS;
		slot_leave(&s->agent.tree->slots, &q->agent_slot);
		return;
	}
	end_reason(&s->failure, q);
	subagent_begin_end(s, s->suspend_asked ? AGENT_SUSPENDED : end_state_of(q));
}

static void run(struct subagent *s)
{
	if (asked_to_end(s) && s->agent.query.state != QUERY_IDLE)
		query_cancel(&s->agent.query);
	if (!s->turn_over)
		return;
	s->turn_over = false;
	turn_over(s);
}

/* Its children work; it goes on when one of them has something to tell, and ends when none is left. */
static void rest(struct subagent *s)
{
	if (asked_to_end(s)) {
		subagent_begin_end(s, s->suspend_asked ? AGENT_SUSPENDED : AGENT_KILLED);
	} else if (s->agent.query.notice_count) {
		s->phase = CHILD_RUNS;
		agent_leave_fallback(&s->agent);
		agent_leave_turn_model(&s->agent);
		query_start(&s->agent.query);
	} else if (!s->agent.children) {
		subagent_begin_end(s, AGENT_COMPLETED);
	}
}

/* True: the child is gone. */
static bool go_to_end(struct subagent *s)
{
	struct err err = { 0 };

	if (s->agent.children)
		return false; /* no child outlives its parent */
	while (s->step < ending_count) {
		if (!run_step(s, ending[s->step].run, &err)) {
			limit_hooks(s);
			return false;
		}
		if (s->stop_blocked) {
			s->stop_blocked = false;
			s->phase = CHILD_RUNS;
			(void)subagent_remind(s, buf_str(&s->message), &err);
			query_go_on(&s->agent.query);
			return false;
		}
		s->step++;
	}
	begin_teardown(s, s->end);
	return go_down(s);
}

/* True: the child is gone. The step that failed undid itself; those before it are taken down, last first. */
static bool go_down(struct subagent *s)
{
	struct err err = { 0 };

	while (s->step > 0) {
		if (!run_step(s, life[s->step - 1].down, &err)) {
			limit_hooks(s);
			return false;
		}
		s->step--;
	}
	return true;
}

static void leave(struct subagent *s)
{
	struct agent_tree *t = s->agent.tree;
	struct agent *parent = s->agent.parent;
	struct agent_record *record = s->record;

	subagent_unlink(s);
	subagent_tell(s);
	subagent_free(s);
	agent_record_end_waits(record);
	if (parent->child)
		subagent_kick(parent->child);
	if (!t->alive_count)
		agent_tree_tell_tasks(t);
	if (!t->alive_count && t->on_idle)
		t->on_idle(t);
}

static void on_kick(struct kick *kick)
{
	struct subagent *s = CONTAINER_OF(kick, struct subagent, kick);

	if (s->phase == CHILD_STARTS)
		go_up(s);
	if (s->phase == CHILD_RUNS)
		run(s);
	if (s->phase == CHILD_RESTS)
		rest(s);
	bool over = s->phase == CHILD_ENDS ? go_to_end(s) : s->phase == CHILD_TEARDOWN && go_down(s);
	if (over)
		leave(s);
}
