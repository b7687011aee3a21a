/* SPDX-License-Identifier: MIT
 * initial_messages.c - what a child is told before its first request: its context and its task, behind its parent's history if it
 * shares that; or, of one that goes on, the conversation that is on disk. */
#include "lib/base/crash.h"
#include "agents/agent/context.h"
#include "agents/agent/fork.h"
#include "agents/agent/message.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/skill_wake.h"
#include "agents/agent/subagent.h"

static int add_block(struct agent *a, struct segment *block, bool meta, struct err *err)
{
	return query_add_user(&a->query, &block, 1, meta, err);
}

static int add_text(struct agent *a, struct str text, bool meta, struct err *err)
{
	return add_block(a, segment_text(text), meta, err);
}

int subagent_remind(struct agent *a, struct str text, struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(text));
	return add_text(a, buf_str(&b), true, err);
}

static int add_prompt(struct agent *a, struct str text, struct err *err)
{
	struct segment *block = segment_text(text);

	agent_emit(a, &(struct event){ .kind = EVENT_MESSAGE, .block = block });
	return add_block(a, block, false, err);
}

/* Such a child is made while the call that wants it is open: its parent's conversation must not move on before. */
bool subagent_shares_history(const struct agent *a)
{
	return a->is_fork || a->definition->fork_context;
}

/* The parent's conversation, with every open call answered by the same words. */
static int share_history(struct agent *a, struct err *err)
{
	struct agent *parent = a->parent;
	struct fork_base *base = agent_fork_base(parent);
	struct fork_origin origin = { .session_id = a->tree->session_id,
				      .agent_id = parent->parent ? parent->who.id : NULL,
				      .uuid = parent->recorder.last,
				      .placeholder = fork_placeholder_text };

	transcript_fork(&base->history, &a->query.transcript);
	if (a->is_fork) { /* its head is its parent's too: the whole prefix is in the server's cache */
		a->query.last_mark = parent->query.last_mark;
		a->query.fork_gate = fork_gate_ref(base->gate);
	}
	return recorder_fork_origin(&a->recorder, &origin, err);
}

/* Those that it can use, and the text of those that it has from birth. */
static int add_skills(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf list = { 0 };

	agent_list_skills(a, &list);
	if (list.n && add_text(a, buf_str(&list), true, err) < 0)
		return -(int)err->kind;
	return a->skills.n ? add_text(a, buf_str(&a->skills), true, err) : 0;
}

static int add_context(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf environment = { 0 };
	bool omit = a->definition->omit_claude_md;

	context_environment(&environment, a);
	if (add_text(a, buf_str(&environment), true, err) < 0)
		return -(int)err->kind;
	struct segment *instructions = context_instructions(a->tree, omit);
	if (instructions && add_block(a, instructions, true, err) < 0)
		return -(int)err->kind;
	return add_skills(a, err);
}

static int add_task(struct agent *a, struct err *err)
{
	const char *initial = a->definition ? a->definition->initial_prompt : NULL;
	AUTO_BUF struct buf text = { 0 };

	if (a->is_fork) {
		fork_directive(&text, str_from(a->record->prompt));
	} else {
		if (a->initial.n)
			initial = a->initial.p;
		if (initial)
			buf_addf(&text, "%s\n\n", initial);
		buf_addstr(&text, a->record->prompt);
	}
	if (a->worktree && subagent_shares_history(a))
		fork_worktree_notice(&text, a->parent->cwd, a->worktree->path);
	return add_prompt(a, buf_str(&text), err);
}

static int begin_new(struct agent *a, struct err *err)
{
	if (subagent_shares_history(a) && share_history(a, err) < 0)
		return -(int)err->kind;
	if (!a->is_fork && add_context(a, err) < 0)
		return -(int)err->kind;
	if (a->start_context.n && subagent_remind(a, buf_str(&a->start_context), err) < 0)
		return -(int)err->kind;
	if (add_task(a, err) < 0 || (a->message.n && add_prompt(a, buf_str(&a->message), err) < 0))
		return -(int)err->kind;
	buf_clear(&a->message);
	crash_point(agent_prompted);
	return 0;
}

/* Its last turn was over when the program ended: what it said then is its answer. */
static void take_last_answer(struct agent *a)
{
	struct query *q = &a->query;

	subagent_last_text(&q->text, &q->transcript);
	q->end = QUERY_DONE;
	a->turn_over = true;
	subagent_kick(a);
}

/* The conversation so far is on disk. */
static int begin_again(struct agent *a, struct err *err)
{
	struct session_load *l = a->load;
	bool goes_on = !a->message.n, over = goes_on && !l->interrupted;
	int status = 0;

	a->query.transcript = l->transcript;
	l->transcript = (struct transcript){ 0 };
	memcpy(a->recorder.last, l->last, sizeof a->recorder.last);
	for (size_t i = 0; i < l->file_count; i++) {
		a->tree->kit->recall_file(&a->env, l->files[i].path, l->files[i].time_ms, l->files[i].partial);
		agent_recall_touch(a, l->files[i].path);
	}
	agent_tree_restore(a, &l->delivered);
	agent_recall_messages(a, l);
	for (size_t i = 0; i < l->call_count && status == 0; i++)
		status = query_restore_call(&a->query, l->calls[i].id, l->calls[i].name, l->calls[i].input,
					    l->calls[i].result, goes_on, err);
	if (status == 0 && a->start_context.n && !over)
		status = subagent_remind(a, buf_str(&a->start_context), err);
	if (status == 0 && !goes_on)
		status = add_prompt(a, buf_str(&a->message), err);
	if (status == 0 && over)
		take_last_answer(a);
	session_load_release(l);
	free(TAKE(a->load));
	buf_clear(&a->message);
	return status;
}

int subagent_initial_messages(struct agent *a, struct err *err)
{
	return a->load ? begin_again(a, err) : begin_new(a, err);
}
