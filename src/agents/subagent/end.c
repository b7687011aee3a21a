/* SPDX-License-Identifier: MIT
 * end.c - the one order of every end: stop hooks, its processes, the worktree decision, the end on disk; then life[] is
 * taken down, and last its parent gets the report. */
#include "lib/base/crash.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"
#include "agents/agent/record.h"
#include "agents/agent/context.h"
#include "agents/subagent/subagent.h"

static int end_processes(struct agent *a, struct err *err)
{
	(void)err;
	a->tree->kit->end_shells(&a->env);
	return 0;
}

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
	if (end_state_info(a->end)->has_report && text.n)
		buf_add(&t->report, text.p, text.n);
	else if (end_state_info(a->end)->has_report)
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

const struct end_step ending[] = {
	{ "stop hooks", agent_stop_hooks },     { "processes", end_processes }, { "sync", sync_lines },
	{ "worktree", agent_release_worktree }, { "record", record_end },
};
const size_t ending_count = COUNT_OF(ending);

/* Start and stop hooks of a run are pairs: the end of the member itself does not run them again. */
static int pause_team(struct agent *a, struct err *err)
{
	a->start_fired = false;
	return a->end == AGENT_COMPLETED ? a->tree->team_ops->run_over(a, err) : 0;
}

const struct end_step pausing[] = {
	{ "stop hooks", agent_stop_hooks },
	{ "team", pause_team },
	{ "record", record_end },
};
const size_t pausing_count = COUNT_OF(pausing);

/* ---- the report to the parent ------------------------------------------------------------------------------------ */

void agent_record_notice_id(const struct agent_record *t, char out[AGENT_NOTICE_LEN])
{
	snprintf(out, AGENT_NOTICE_LEN, "%s.%u", t->id, t->run);
}

/* For observers, whether or not a call waited */
static void announce_end(struct agent_record *t)
{
	struct event_task task;
	struct event_agent who = { .id = t->id,
				   .type = t->type,
				   .name = t->name,
				   .description = t->description,
				   .tool_use_id = t->tool_use_id,
				   .parent_id = t->parent_id,
				   .depth = t->depth };

	agent_record_event(t, &task);
	t->tree->on_event(t->tree->data, &(struct event){ .kind = EVENT_NOTIFICATION,
							  .agent = &who,
							  .task = &task,
							  .text = buf_str(&t->report) });
}

static void deliver_end(struct agent_record *t, struct agent *parent, struct str notes)
{
	struct hook_event_spec spec = { .event = HOOK_NOTIFICATION, .subject = STR("agent_completed") };
	AUTO_BUF struct buf fields = { 0 };
	AUTO_BUF struct buf message = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&fields);
	char id[AGENT_NOTICE_LEN];

	if (agent_has_hooks(parent, &spec)) {
		buf_addf(&message, "Agent \"%s\" %s", t->description, end_state_info(t->state)->summary);
		json_open(&w, '{');
		json_kstr(&w, "message", buf_str(&message));
		json_kcstr(&w, "title", t->type);
		json_kstr(&w, "notification_type", spec.subject);
		json_close(&w);
		spec.fields = buf_str(&fields);
		agent_notify_hooks(parent, &spec);
	}
	report_notification(&text, t, notes);
	agent_record_notice_id(t, id);
	crash_point(notice_queued);
	agent_notice(parent, id, buf_str(&text));
}

void agent_record_notify(struct agent_record *t, struct agent *parent, struct str notes)
{
	announce_end(t);
	deliver_end(t, parent, notes);
}

void subagent_report_end(struct agent *a)
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
	agent_record_note(t);
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
