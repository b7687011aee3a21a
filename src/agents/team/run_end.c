/* SPDX-License-Identifier: MIT
 * run_end.c - the lives of members as the team sees them: their initial messages, the end of a run and its notification to the
 * lead, and how members of an earlier process are restored. */
#include "agents/team/pane.h"
#include "agents/agent/hooks.h"
#include "agents/agent/context.h"
#include "lib/base/crash.h"
#include "lib/base/utf8.h"
#include "lib/base/list.h"

enum { LONGEST_RESULT = 4000, LONGEST_IDLE_SUMMARY = 200 };

static void write_initial_message(struct agent *a, struct buf *out)
{
	const struct agent_tree *tree = a->tree;
	const struct team *t = tree->team;
	struct mail task = { .from = TEAM_LEAD,
			     .summary = str_from(a->record->description),
			     .text = str_from(a->record->prompt) };

	if (t) {
		buf_addf(out, "<system-reminder>\nYour name is %s, you are a member of team %s. The lead is %s.\n",
			 a->record->name, t->name, TEAM_LEAD);
		team_describe(t, out);
		if (tree->todo_dir)
			buf_addf(out, "The task list of the team is in %s.\n", tree->todo_dir);
		buf_addstr(out, "</system-reminder>\n\n");
	}
	mail_write(out, &task);
	if (a->record->member->early)
		buf_addf(out, "\n\n%s", a->record->member->early);
}

static void keep_working(struct agent *a, const char *event, const struct hook_outcome *outcome)
{
	if (a->stop_blocks++ >= MOST_STOP_BLOCKS)
		return;
	a->stop_blocked = true;
	buf_clear(&a->message);
	buf_addf(&a->message, "%s hook feedback:\n" STR_FMT, event, STR_ARG(outcome->block_reason));
}

static void on_idle_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;

	a->hook_batch = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->stop && !outcome->cancelled)
		a->leaves = true;
	else if (outcome->blocked && !outcome->cancelled)
		keep_working(a, "TeammateIdle", outcome);
	agent_step_done(a, NULL);
}

static int run_task_hooks(struct agent *a);

static void on_task_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;

	a->hook_batch = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	a->record->member->tasks_shown++;
	if (outcome->blocked && !outcome->cancelled)
		keep_working(a, "TaskCompleted", outcome);
	if (a->stop_blocked || outcome->cancelled || run_task_hooks(a) == 0)
		agent_step_done(a, NULL);
}

/* TaskCompleted hooks of each task that it owns and has in progress, then its TeammateIdle hooks */
static int run_task_hooks(struct agent *a)
{
	const struct hook_event_spec completed = { .event = HOOK_TASK_COMPLETED };
	const char *name = a->record->name, *dir = a->tree->todo_dir;
	const struct agent_member *m = a->record->member;
	AUTO_ARENA struct arena arena = { 0 };
	struct todo_info task;

	if (dir && agent_has_hooks(a, &completed) && a->tree->kit->task_at(dir, name, m->tasks_shown, &arena, &task))
		a->hook_batch = agent_run_hooksf(
			a, HOOK_TASK_COMPLETED, NULL, on_task_hooks, a,
			"{task_id:'%s', task_subject:'%s', task_description:'%s', teammate_name:'%s', team_name:'%s'}",
			task.id, task.subject, task.description, name, m->team);
	else
		a->hook_batch = agent_run_hooksf(a, HOOK_TEAMMATE_IDLE, NULL, on_idle_hooks, a,
						 "{teammate_name:'%s', team_name:'%s'}", name, m->team);
	return a->hook_batch ? STEP_TAKES_TIME : 0;
}

/* A request to shut down that it has read and not answered is decided by what it has to do. */
static void decide_shutdown(struct agent *a)
{
	struct agent_record *r = a->record;
	struct agent_member *m = r->member;
	struct team *t = a->tree->team;
	AUTO_BUF struct buf tasks = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct err ignored = { 0 };

	if (!t || !m->shutdown || query_wants_turn(&a->query) || a->leaves)
		return;
	if (!team_tasks_of(a->tree, r->name, &tasks)) {
		a->leaves = true;
		return;
	}
	const char *request = m->shutdown;
	m->shutdown = NULL;
	json_addf(&text, "{type:'shutdown_rejected', requestId:'%s', from:'%s', reason:'%s', timestamp:'%s'}", request,
		  r->name, "it did not answer and owns tasks in progress", id_iso_now().text);
	AUTO_ARENA struct arena arena = { 0 };
	struct mail mail = { .id = arena_printf(&arena, "%s.rejected", request),
			     .from = r->name,
			     .color = m->color,
			     .text = buf_str(&text) };
	(void)mail_put(t, NULL, &mail, false, &ignored);
}

static int member_run_over(struct agent *a, struct err *err)
{
	decide_shutdown(a);
	a->record->member->tasks_shown = 0;
	return a->leaves || a->record->member->plan ? 0 : run_task_hooks(a);
}

/* again: the lead may have it already. */
static void notify_idle(struct team *t, struct agent_record *r, bool again)
{
	struct agent_member *m = r->member;
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf tasks = { 0 };
	struct json_out w = json_out(&text);
	struct err ignored = { 0 };
	/* A run of a member in a pane is known by its last line: its process counts from zero after each start. */
	const char *id = m->in_pane ? arena_printf(&arena, "%s.%s.idle", r->id, r->run_id)
				    : arena_printf(&arena, "%s.%u.idle", r->id, r->run);
	struct str report = str_trim(buf_str(&r->report));
	bool answer = m->by_lead && !m->told_lead && report.n;
	bool last = !team_count(t, true) && (!m->told_lead || t->unheard);
	bool loud = m->failed || m->interrupted || answer || last || t->tells_all;

	json_putf(&w, "{type:'idle_notification', from:'%s', timestamp:'%s', idleReason:'%s', summary?:'%.*s'", r->name,
		  id_iso_now().text,
		  m->failed        ? "failed"
		  : m->interrupted ? "interrupted"
				   : "available",
		  STR_ARG(utf8_cut(str_from(m->said), LONGEST_IDLE_SUMMARY)));
	if (m->completed[0])
		json_putf(&w, "completedTaskId:'%s', completedStatus:'resolved'", m->completed);
	json_putf(&w, "failureReason?:'%s', result?:'%.*s', waitingFor?:'%s'", m->failed ? r->failure : NULL,
		  STR_ARG(utf8_cut(report, LONGEST_RESULT)), m->plan ? "plan_approval" : NULL);
	if (team_tasks_of(r->tree, r->name, &tasks))
		json_kstr(&w, "ownedTasks", str_trim(buf_str(&tasks)));
	buf_clear(&tasks);
	(void)team_tasks_of(r->tree, "", &tasks);
	json_putf(&w, "claimable?:'%.*s'}", STR_ARG(str_trim(buf_str(&tasks))));
	t->unheard = loud ? 0 : t->unheard + !m->told_lead;
	(void)mail_put(t, NULL,
		       &(struct mail){ .id = id,
				       .from = r->name,
				       .color = m->color,
				       .text = buf_str(&text),
				       .about = arena_printf(&arena, "idle %s", r->id),
				       .quiet = !loud },
		       again, &ignored);
}

static bool has_failed(const struct agent_record *r)
{
	return r->state == AGENT_FAILED || r->state == AGENT_REFUSED || r->state == AGENT_BUDGET;
}

static void emit_state(struct agent *a)
{
	struct event_task task;

	agent_record_event(a->record, &task);
	agent_emit(a, &(struct event){ .kind = EVENT_MEMBER_STATE, .task = &task });
	agent_tree_tasks_changed(a->tree);
}

static void member_waits(struct agent *a)
{
	struct agent_record *r = a->record;
	struct agent_member *m = r->member;
	struct team *t = a->tree->team;

	m->failed = has_failed(r);
	m->state = m->plan ? MEMBER_AWAITS : m->failed ? MEMBER_FAILED : MEMBER_IDLE;
	m->active_ms = id_wall_ms();
	emit_state(a);
	if (!t)
		return;
	if (!a->leaves && !query_wants_turn(&a->query))
		team_claim_task(r, false);
	if (!a->leaves && !query_wants_turn(&a->query))
		notify_idle(t, r, false);
	m->by_lead = m->told_lead = false;
	team_files_changed(t->files);
	team_files_drain(t->files);
	team_limit_idle(t);
	if (!timer_running(&t->park))
		timer_start(a->tree->services->loop, &t->park, (uint64_t)t->park_after_ms);
}

void team_run_over(struct agent *a, bool again, bool all_read)
{
	struct agent_record *r = a->record;

	if (all_read)
		decide_shutdown(a);
	if (a->leaves) {
		a->leaves = false;
		r->state = AGENT_COMPLETED;
		team_ops.gone(r);
		return;
	}
	notify_idle(r->tree->team, r, again);
	r->member->by_lead = r->member->told_lead = false;
}

void team_run_begins(struct agent_record *r)
{
	AUTO_ARENA struct arena a = { 0 };

	r->member->interrupted = false;
	if (query_pending_notice(&r->tree->main.query, arena_printf(&a, "idle %s", r->id)))
		return; /* the next notification replaces it, and says this too */
	r->member->said[0] = r->member->completed[0] = '\0';
}

static void member_works(struct agent *a)
{
	struct agent_member *m = a->record->member;

	team_run_begins(a->record);
	bool woken = m->state != MEMBER_STARTS;
	m->state = MEMBER_WORKS;
	m->active_ms = id_wall_ms();
	if (woken)
		emit_state(a);
	if (a->tree->team) {
		a->tree->team->closing_told = false;
		team_files_changed(a->tree->team->files);
	}
}

void team_tell_end(struct agent_record *r, const char *id, const char *text)
{
	AUTO_BUF struct buf object = { 0 };
	struct err ignored = { 0 };

	json_addf(&object, "{type:'teammate_terminated', message:'%s'}", text);
	if (r->tree->team)
		(void)mail_put(r->tree->team, NULL,
			       &(struct mail){
				       .id = id, .from = r->name, .color = r->member->color, .text = buf_str(&object) },
			       false, &ignored);
}

/* Something of a member that may take time, in a thread. The session is not quiet before it is over. */
struct member_job {
	struct member_job *next; /* in team->jobs */
	struct team *team;       /* NULL: it was closed */
	struct agent_record *record;
	struct load_job *load; /* NULL: it is other work */
};

static void member_job_begin(struct member_job *j, struct team *t, struct agent_record *r)
{
	*j = (struct member_job){ .next = t->jobs, .team = t, .record = r };
	t->jobs = j;
}

/* False: the team is closed. */
static bool member_job_over(struct member_job *j)
{
	if (!j->team)
		return false;
	list_drop(&j->team->jobs, j);
	agent_tree_kick(j->record->tree);
	return true;
}

void team_forget_jobs(struct team *t)
{
	for (struct member_job *j = t->jobs; j; j = j->next) {
		j->team = NULL;
		session_load_stop(j->load);
	}
}

/* The open tasks of a member that is gone. Another program may have locked them: the change waits for that, not the loop. */
struct task_release {
	struct member_job job;
	struct file_change change;
	const struct tool_runtime *kit;
	char *dir, *owner;
	struct buf end, tasks; /* how it ended; what it left */
};

static int release_make(struct file_change *change, unsigned wait_ms, struct err *err)
{
	struct task_release *x = CONTAINER_OF(change, struct task_release, change);

	return x->kit->release_tasks(x->dir, x->owner, wait_ms, &x->tasks, err);
}

/* The lead gets its end once, with the tasks that have no owner any more. */
static void release_done(struct file_change *change, bool later, const struct err *err)
{
	struct task_release *x = CONTAINER_OF(change, struct task_release, change);
	struct agent_record *r = x->job.record;
	AUTO_ARENA struct arena arena = { 0 };

	if (member_job_over(&x->job)) {
		if (x->tasks.n)
			buf_addf(&x->end, " These tasks have no owner again:\n%s", x->tasks.p);
		if (err->kind)
			buf_addf(&x->end, " Its tasks still name it as their owner: %s.", err->text);
		if (x->tasks.n || err->kind || !x->job.team->closing_told)
			team_tell_end(r, arena_printf(&arena, "%s.%u.gone", r->id, r->run),
				      arena_str(&arena, str_trim(buf_str(&x->end))).p);
	}
	buf_release(&x->end);
	buf_release(&x->tasks);
	free(x->dir);
	free(x->owner);
	free(x);
}

static void release_tasks(struct team *t, struct agent_record *r, bool asked)
{
	AUTO_BUF struct buf owned = { 0 };
	struct task_release *x = xnew(struct task_release, .change = { .make = release_make, .done = release_done },
				      .kit = r->tree->kit);

	member_job_begin(&x->job, t, r);
	if (asked)
		buf_addf(&x->end, "%s has shut down.", r->name);
	else
		buf_addf(&x->end, "%s %s%s%s.", r->name, end_states[r->state].summary, r->failure ? ": " : "",
			 r->failure ? r->failure : "");
	(void)team_tasks_of(r->tree, r->name, &owned);
	if (!owned.n) {
		release_done(&x->change, false, &(struct err){ 0 });
		return;
	}
	x->dir = xstrdup(r->tree->todo_dir);
	x->owner = xstrdup(r->name);
	(void)change_queue_make(&r->tree->services->changes, &x->change, NULL);
}

void team_announce_gone(struct agent_record *r)
{
	static const enum event_kind kinds[] = { EVENT_AGENT_ENDED, EVENT_NOTIFICATION };
	struct event_agent who = agent_record_who(r);
	struct event_task task;

	if (r->live || !r->member->announced)
		return;
	r->member->announced = false;
	agent_record_event(r, &task);
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		r->tree->on_event(r->tree->data, &(struct event){ .kind = kinds[i],
								  .agent = &who,
								  .task = &task,
								  .text = STR(""),
								  .is_error = end_states[r->state].is_error });
	agent_tree_tasks_changed(r->tree);
}

/* Its open tasks lose their owner, then the lead is notified. */
static void member_gone(struct agent_record *r)
{
	struct team *t = r->tree->team;
	struct agent_member *m = r->member;
	struct err ignored = { 0 };

	bool asked = m->shutdown != NULL;
	m->state = MEMBER_GONE;
	m->shutdown = m->plan = NULL;
	(void)meta_write(r, &ignored);
	crash_point(member_gone);
	team_announce_gone(r);
	if (m->in_pane)
		pane_end(r);
	if (!t || r->tree->closing)
		return;
	team_files_changed(t->files);
	release_tasks(t, r, asked);
}

void team_assign(struct team *t, const char *owner, const struct todo_info *task, const char *by, const char *change,
		 bool again)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct agent_record *to = agent_tree_member(t->tree, str_from(owner));
	struct err ignored = { 0 };

	if (!strcmp(owner, TEAM_LEAD)) {
		buf_addf(&text, "Task #%s (%s) has no owner, and nothing blocks it any more.", task->id, task->subject);
		(void)mail_put(t, NULL,
			       &(struct mail){ .id = arena_printf(&a, "%s.%s.free.%s", t->name, task->id, change),
					       .from = by,
					       .text = buf_str(&text),
					       .quiet = true },
			       again, &ignored);
		return;
	}
	if (!to || to->member->state == MEMBER_GONE)
		return;
	json_addf(
		&text,
		"{type:'task_assignment', taskId:'%s', subject:'%s', description:'%s', assignedBy:'%s', timestamp:'%s'}",
		task->id, task->subject, task->description, by, id_iso_now().text);
	to->member->by_lead = to->member->by_lead || !strcmp(by, TEAM_LEAD);
	(void)mail_put(t, to,
		       &(struct mail){ .id = arena_printf(&a, "%s.%s.%s.%s", t->name, task->id, owner, change),
				       .from = by,
				       .text = buf_str(&text) },
		       again, &ignored);
	crash_point(assignment_queued);
}

static int tell_member(struct agent_record *r, const char *id, struct str text, struct err *err)
{
	if (r->member->state == MEMBER_GONE)
		return err_set(err, ERR_NOT_FOUND, "%s is gone", r->name);
	r->tree->team->closing_told = false;
	return mail_put(r->tree->team, r, &(struct mail){ .id = id, .from = "user", .text = text, .of_user = true },
			true, err);
}

struct member_load {
	struct member_job job;
	bool told;      /* the lead has the end of its last run */
	bool from_pane; /* there is no tmux now: it continues in this process */
};

/* One without the end of its run continues; one that waited is parked, unless mail waits for it. What cannot be read fails, and is
 * tried again with the next message. */
static void member_loaded(struct member_load *x, const struct session_load *l, const struct err *why)
{
	struct team *t = x->job.team;
	struct agent_record *r = x->job.record;
	struct agent_member *m = r->member;
	struct err err = { 0 };
	bool unread = !l && why->kind != ERR_NOT_FOUND;
	bool over = l && l->end.n && end_read(r, l->end);
	struct err moved = { 0 };

	m->restoring = false;
	if (x->from_pane && !unread) {
		if (l && !l->interrupted) { /* its process has recorded no end: the run is known by its newest line */
			over = true;
			r->state = AGENT_IDLE;
			snprintf(r->run_id, sizeof r->run_id, "%s", l->last);
			buf_clear(&r->report);
			agent_last_text(&r->report, &l->transcript);
			notify_idle(t, r, true);
			x->told = true;
		}
		unread = pane_move_here(r, l, &moved) < 0;
		why = unread ? &moved : why;
		team_tell_end(r, arena_printf(&r->arena, "%s.%lld.here", r->id, (long long)id_wall_ms()),
			      arena_printf(&r->arena, "%s lives in this process now: tmux is not installed.", r->name));
	}
	if (unread) {
		r->state = AGENT_FAILED;
		r->failure = arena_strdup(&r->arena, why->text);
		team_tell_end(
			r, arena_printf(&r->arena, "%s.%u.unread", r->id, r->run),
			arena_printf(&r->arena, "%s is suspended: %s. A message tries again.", r->name, r->failure));
	}
	bool waits = unread || (over && (r->state == AGENT_IDLE || has_failed(r)));
	if (waits && r->stop_asked) {
		r->state = AGENT_KILLED;
		waits = false;
	}
	if (over && !waits) { /* its end was on disk, what follows from it not yet */
		member_gone(r);
		buf_release(&r->report);
		return;
	}
	if (waits) {
		m->failed = has_failed(r);
		m->state = m->plan ? MEMBER_AWAITS : m->failed ? MEMBER_FAILED : MEMBER_PARKED;
		bool mail = m->mail_came || (!unread && l->waiting_count);
		if (!mail)
			team_claim_task(r, true);
		if (!x->told && !unread && !r->live)
			notify_idle(t, r, false);
		buf_release(&r->report);
		if (!mail)
			return;
	}
	m->state = MEMBER_WORKS;
	if ((waits ? agent_wake(r, &err) : agent_resume_run(r, &err)) == 0)
		return;
	r->state = AGENT_FAILED;
	r->failure = arena_strdup(&r->arena, err.text);
	member_gone(r);
}

static void on_member_loaded(void *data, struct session_load *l, const struct err *err)
{
	struct member_load *x = data;

	if (member_job_over(&x->job) && x->job.record->member->state != MEMBER_GONE && !x->job.record->live)
		member_loaded(x, l, err);
	if (l)
		session_load_release(l);
	free(l);
	free(x);
}

/* A member that is gone stays gone. The transcript of another one is read in a thread, as long as it is. */
static void member_restore(struct agent_record *r, const struct map *delivered)
{
	struct agent_tree *tree = r->tree;
	struct team *t = tree->team;
	struct agent_member *m = r->member;
	AUTO_ARENA struct arena arena = { 0 };
	bool ours = t && !strcmp(m->team, t->name);

	r->restored = false;
	if (!ours || m->state == MEMBER_GONE) {
		AUTO_BUF struct buf tasks = { 0 };
		m->state = MEMBER_GONE;
		if (ours && agent_tree_member(tree, str_from(r->name)) == r)
			(void)team_tasks_of(tree, r->name, &tasks);
		if (tasks.n) /* a kill came between its end and their release */
			release_tasks(t, r, false);
		return;
	}
	if (m->foreign) {
		r->state = AGENT_FAILED;
		r->failure = "it is of another program, which cannot be resumed";
		member_gone(r);
		return;
	}
	if (m->in_pane && pane_restore(r))
		return;
	const char *id = arena_printf(&arena, "%s.%u.idle", r->id, r->run);
	struct member_load *x = xcalloc(1, sizeof *x);
	x->told = map_get(delivered, str_from(id));
	for (size_t i = 0; i < tree->main.load->waiting_count && !x->told; i++)
		x->told = !strcmp(tree->main.load->waiting[i].id, id);
	x->from_pane = m->in_pane;
	m->state = m->plan ? MEMBER_AWAITS : MEMBER_STARTS;
	m->restoring = true;
	member_job_begin(&x->job, t, r);
	x->job.load = session_load_start(tree->services->loop, r->transcript, on_member_loaded, x);
}

static void answer_spawned(struct tool_call *call, const struct agent_record *r)
{
	const struct agent_member *m = r->member;
	struct buf *out = &call->result;
	struct json_out w = json_out(&call->result_json);

	buf_clear(out);
	buf_addf(out, "Spawned successfully.\nagent_id: %s\nname: %s\nteam_name: %s\n", r->id, r->name, m->team);
	struct pane *pane = pane_of(r);
	struct str note = str_trim(r->live ? buf_str(&r->live->notes) : str_from(pane && pane->note ? pane->note : ""));
	if (note.n)
		buf_addf(out, "NOTE: " STR_FMT "\n", STR_ARG(note));
	buf_addstr(out,
		   "It works now and reports on its own: its messages are delivered to you, so do not wait or ask. You "
		   "may end your turn.");
	const char *window = m->in_pane ? "current" : "in-process";
	json_putf(&w, "{status:'teammate_spawned', prompt:'%s', agentId:'%s', resolvedModel?:'%s', teammate_id:'%s'",
		  r->prompt, r->id, r->model, arena_printf(&call->arena, "%s@%s", r->name, m->team));
	json_putf(&w, "agent_id:'%s', agent_type:'%s', model?:'%s', name:'%s', color:'%s'", r->id, r->type, r->model,
		  r->name, m->color);
	json_putf(&w, "tmux_session_name:'%s', tmux_window_name:'%s', tmux_pane_id:'%s', team_name:'%s'", window,
		  window, m->in_pane ? m->pane : window, m->team);
	json_putf(&w, "is_splitpane:!!%d, plan_mode_required:!!%d}", m->in_pane, m->plan_required);
	tool_call_end(call);
}

const struct team_ops team_ops = {
	.initial_message = write_initial_message,
	.spawned = answer_spawned,
	.run_over = member_run_over,
	.waits = member_waits,
	.works = member_works,
	.gone = member_gone,
	.restore = member_restore,
	.spawn_pane = pane_spawn,
	.plan = team_plan,
	.tell = tell_member,
	.stop = team_stop,
	.describe = team_remind,
};
