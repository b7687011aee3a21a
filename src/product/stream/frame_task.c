/* SPDX-License-Identifier: MIT
 * frame_task.c - frames about children: system/task_* and who a frame of the conversation belongs to. */
#include "product/stream/frame_int.h"

void frame_put_agent(struct json_out *w, const struct event *event)
{
	const struct event_agent *a = event->agent;

	if (!a || !a->id[0]) {
		json_kcstr(w, "parent_tool_use_id", NULL);
		return;
	}
	json_kcstr(w, "parent_tool_use_id", a->tool_use_id);
	json_kcstr(w, "agent_id", a->id);
	json_kcstr(w, "subagent_type", a->type);
	json_kcstr(w, "task_description", a->description);
}

bool frame_is_held_back(const struct cadre_event *e)
{
	const struct event *ev = e->event;

	if (!ev->agent || !ev->agent->id[0] || e->session->tree.switches.forward_text)
		return false;
	if (ev->kind == EVENT_DELTA)
		return true;
	return ev->kind == EVENT_MESSAGE && ev->from_model && ev->block->kind != SEGMENT_TOOL_USE;
}

static void begin(struct json_out *w, const char *subtype, const struct event *event)
{
	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", subtype);
	json_kcstr(w, "task_id", event->agent->id);
	json_kcstr(w, "run_id", event->task->run_id);
	json_kcstr(w, "tool_use_id", event->agent->tool_use_id);
}

static void put_usage(struct json_out *w, const struct event_task *t)
{
	const struct usage *u = &t->usage;

	json_key(w, "usage");
	json_open(w, '{');
	json_ki64(w, "total_tokens", u->input + u->cache_read + u->cache_write + u->output);
	json_ki64(w, "tool_uses", t->tool_uses);
	json_ki64(w, "duration_ms", (int64_t)t->duration_ms);
	json_close(w);
}

static void put_optional(struct json_out *w, const char *key, const char *value)
{
	if (value)
		json_kcstr(w, key, value);
}

void frame_task_started(struct json_out *w, const struct cadre_event *e)
{
	const struct event_agent *a = e->event->agent;
	const struct event_task *t = e->event->task;

	begin(w, "task_started", e->event);
	json_kcstr(w, "description", a->description);
	json_kcstr(w, "subagent_type", a->type);
	put_optional(w, "name", a->name);
	json_kbool(w, "is_backgrounded", t->background);
	json_ki64(w, "spawn_depth", a->depth);
	json_kcstr(w, "parent_agent_id", a->parent_id[0] ? a->parent_id : NULL);
	json_kcstr(w, "task_type", "local_agent");
	put_optional(w, "model", t->model);
	put_optional(w, "worktree_path", t->worktree);
	json_kcstr(w, "prompt", t->prompt);
}

void frame_task_progress(struct json_out *w, const struct cadre_event *e)
{
	begin(w, "task_progress", e->event);
	json_kcstr(w, "description", e->event->agent->description);
	put_usage(w, e->event->task);
	put_optional(w, "last_tool_name", e->event->task->last_tool);
}

/* SDKs know three ends. */
static const char *status_of(const struct event_task *t)
{
	enum end_state state = AGENT_RUNNING;

	(void)end_state_parse(str_from(t->state), &state);
	const char *status = end_words(state)->status;
	return !strcmp(status, "killed") ? "stopped" : status;
}

void frame_task_updated(struct json_out *w, const struct cadre_event *e)
{
	begin(w, "task_updated", e->event);
	json_key(w, "patch");
	json_open(w, '{');
	json_kcstr(w, "status", status_of(e->event->task));
	json_kcstr(w, "end_state", e->event->task->state);
	json_ki64(w, "end_time", e->time_ms);
	json_close(w);
}

void frame_task_notification(struct json_out *w, const struct cadre_event *e)
{
	const struct event_task *t = e->event->task;

	begin(w, "task_notification", e->event);
	json_kcstr(w, "status", status_of(t));
	json_kcstr(w, "output_file", t->output_file ? t->output_file : "");
	json_kstr(w, "summary", e->event->text);
	put_usage(w, t);
	put_optional(w, "verdict", t->verdict);
	put_optional(w, "worktree_path", t->worktree);
	put_optional(w, "worktree_branch", t->worktree ? t->branch : NULL);
}

void frame_tasks_changed(struct json_out *w, const struct cadre_event *e)
{
	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", "background_tasks_changed");
	json_key(w, "tasks");
	json_open(w, '[');
	for (const struct agent *s = e->session->tree.alive; s; s = s->next) {
		if (!s->record->background)
			continue;
		json_open(w, '{');
		json_kcstr(w, "task_id", s->record->id);
		json_kcstr(w, "task_type", "local_agent");
		json_kcstr(w, "description", s->record->description);
		json_close(w);
	}
	json_close(w);
}

void frame_subagent_stats(struct json_out *w, const struct agent_tree *t)
{
	unsigned counts[AGENT_SUSPENDED + 1] = { 0 };
	unsigned tool_uses = 0;

	if (!t->record_count)
		return;
	for (const struct agent_record *record = t->records; record; record = record->next) {
		counts[record->state]++;
		tool_uses += record->tool_uses;
	}
	json_key(w, "subagent_stats");
	json_open(w, '{');
	json_ki64(w, "total", t->record_count);
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		if (counts[i])
			json_ki64(w, end_words((enum end_state)i)->state, counts[i]);
	json_ki64(w, "tool_uses", tool_uses);
	json_close(w);
}
