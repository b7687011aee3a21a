/* SPDX-License-Identifier: MIT
 * compact.c - PreCompact, PostCompact and SessionStart hooks, and what an agent knows beside the summary: where it is and what
 * its first message said, its task, its plan, open todos, files it has seen, skills it has used. */
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/skill_use.h"

/* Their output is added to the request for the summary. */
static void on_pre_compact_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = turn_hooks_end(data);
	AUTO_BUF struct buf said = { 0 };

	if (!a)
		return;
	emit_hook_messages(a->tree, &a->who, outcome);
	hook_contexts_add(&said, outcome);
	bool refused = outcome->blocked || outcome->stop;
	struct str why = outcome->blocked ? outcome->block_reason : outcome->stop_reason;
	query_compact_decided(&a->query, !refused, refused ? why : buf_str(&said));
}

static void on_session_start_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = turn_hooks_end(data);
	AUTO_BUF struct buf list = { 0 };

	if (!a)
		return;
	agent_apply_hook_outcome(a, outcome);
	if (str_is(outcome->fields[HOOK_RELOAD_SKILLS], "true")) {
		/* The list at the start of the conversation was made before the hooks ran. */
		agent_tree_reload_skills(a->tree);
		agent_list_skills(a, &list);
		if (list.n)
			query_notice(&a->query, NULL, buf_str(&list));
	}
	query_compact_reported(&a->query);
}

static bool before_compaction(struct query *q, void *data)
{
	struct agent *a = data;
	const char *trigger = compact_trigger_name(q->compaction->trigger);

	return turn_hooks_startf(a, &a->compact_hooks, HOOK_PRE_COMPACT, trigger, on_pre_compact_hooks,
				 "{trigger:'%s', custom_instructions:?'%.*s'}", trigger,
				 STR_ARG(q->compaction->instructions));
}

/* For the main agent this is like the start of the session: its hooks may add the same context again. */
static bool after_compaction(struct query *q, void *data)
{
	struct agent *a = data;
	const char *trigger = compact_trigger_name(q->compaction->trigger);

	agent_notify_hooksf(a, HOOK_POST_COMPACT, trigger, "{trigger:'%s', compact_summary:'%.*s'}", trigger,
			    STR_ARG(q->compaction->summary));
	return !a->parent && turn_hooks_startf(a, &a->compact_hooks, HOOK_SESSION_START, "compact",
					       on_session_start_hooks, "{source:'compact', model:'%s'}", a->model);
}

/* An empty text is left out. */
static void add_reminder(struct transcript *out, const char *what, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	if (!text.n)
		return;
	buf_addf(&b, "<system-reminder>\n%s\n" STR_FMT "\n</system-reminder>", what, STR_ARG(text));
	transcript_add(out, ROLE_USER, segment_text(buf_str(&b)));
}

static void add_kept_messages(struct query *q, struct transcript *out, void *data)
{
	struct agent *a = data;
	const struct tool_runtime *kit = a->tree->kit;
	struct segment *context[CONTEXT_BLOCKS];
	size_t count = context_blocks(a, context);
	AUTO_BUF struct buf plan = { 0 };
	AUTO_BUF struct buf todos = { 0 };
	AUTO_BUF struct buf files = { 0 };
	AUTO_BUF struct buf skills = { 0 };
	AUTO_BUF struct buf texts = { 0 };
	AUTO_BUF struct buf team = { 0 };

	for (size_t i = 0; i < count; i++)
		transcript_add(out, ROLE_USER, context[i]);
	if (a->parent)
		add_reminder(out, "Your task, as it was given to you at the beginning:", str_from(a->record->prompt));
	if (a->plan.path && plan_read(a, &plan))
		add_reminder(out, "Your plan:", buf_str(&plan));
	if (kit->list_todos)
		kit->list_todos(&a->env, &todos);
	add_reminder(out, "Open items of your lists:", str_trim(buf_str(&todos)));
	if (kit->list_files)
		kit->list_files(&a->env, &files);
	add_reminder(out,
		     "Files that you have read or written, the latest last. What was in them is not in this "
		     "conversation any more: read again what you need.",
		     str_trim(buf_str(&files)));
	a->skills_listed = 0;
	agent_list_skills(a, &skills);
	if (skills.n)
		transcript_add(out, ROLE_USER, segment_text(buf_str(&skills)));
	skill_texts_restore(&a->skills_told, &a->query.transcript, &texts);
	map_release(&a->instructions_seen); /* the summary has taken their place */
	a->instructions_forgotten = true;
	add_reminder(out, "Skills that were used in this conversation; they still hold:", buf_str(&texts));
	if (a->tree->team)
		a->tree->team_ops->describe(a, &team);
	add_reminder(out, "Your team, as it is now:", str_trim(buf_str(&team)));
	agent_drop_fork_base(a);
}

const struct compact_owner agent_compact_owner = { before_compaction, add_kept_messages, after_compaction };
