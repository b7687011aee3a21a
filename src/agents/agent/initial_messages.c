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

static int add_block(struct subagent *s, struct segment *block, bool meta, struct err *err)
{
	return query_add_user(&s->agent.query, &block, 1, meta, err);
}

static int add_text(struct subagent *s, struct str text, bool meta, struct err *err)
{
	return add_block(s, segment_text(text), meta, err);
}

int subagent_remind(struct subagent *s, struct str text, struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(text));
	return add_text(s, buf_str(&b), true, err);
}

static int add_prompt(struct subagent *s, struct str text, struct err *err)
{
	struct segment *block = segment_text(text);

	agent_emit(&s->agent, &(struct event){ .kind = EVENT_MESSAGE, .block = block });
	return add_block(s, block, false, err);
}

/* Such a child is made while the call that wants it is open: its parent's conversation must not move on before. */
bool subagent_shares_history(const struct subagent *s)
{
	return s->agent.is_fork || s->definition->fork_context;
}

/* The parent's conversation, with every open call answered by the same words. */
static int share_history(struct subagent *s, struct err *err)
{
	struct agent *a = &s->agent, *parent = a->parent;
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
static int add_skills(struct subagent *s, struct err *err)
{
	AUTO_BUF struct buf list = { 0 };

	agent_list_skills(&s->agent, &list);
	if (list.n && add_text(s, buf_str(&list), true, err) < 0)
		return -(int)err->kind;
	return s->skills.n ? add_text(s, buf_str(&s->skills), true, err) : 0;
}

static int add_context(struct subagent *s, struct err *err)
{
	AUTO_BUF struct buf environment = { 0 };
	bool omit = s->definition->omit_claude_md;

	context_environment(&environment, &s->agent);
	if (add_text(s, buf_str(&environment), true, err) < 0)
		return -(int)err->kind;
	struct segment *instructions = context_instructions(s->agent.tree, omit);
	if (instructions && add_block(s, instructions, true, err) < 0)
		return -(int)err->kind;
	return add_skills(s, err);
}

static int add_task(struct subagent *s, struct err *err)
{
	const char *initial = s->definition ? s->definition->initial_prompt : NULL;
	AUTO_BUF struct buf text = { 0 };

	if (s->agent.is_fork) {
		fork_directive(&text, str_from(s->record->prompt));
	} else {
		if (s->initial.n)
			initial = s->initial.p;
		if (initial)
			buf_addf(&text, "%s\n\n", initial);
		buf_addstr(&text, s->record->prompt);
	}
	if (s->worktree && subagent_shares_history(s))
		fork_worktree_notice(&text, s->agent.parent->cwd, s->worktree->path);
	return add_prompt(s, buf_str(&text), err);
}

static int begin_new(struct subagent *s, struct err *err)
{
	if (subagent_shares_history(s) && share_history(s, err) < 0)
		return -(int)err->kind;
	if (!s->agent.is_fork && add_context(s, err) < 0)
		return -(int)err->kind;
	if (s->start_context.n && subagent_remind(s, buf_str(&s->start_context), err) < 0)
		return -(int)err->kind;
	if (add_task(s, err) < 0 || (s->message.n && add_prompt(s, buf_str(&s->message), err) < 0))
		return -(int)err->kind;
	buf_clear(&s->message);
	crash_point(agent_prompted);
	return 0;
}

/* Its last turn was over when the program ended: what it said then is its answer. */
static void take_last_answer(struct subagent *s)
{
	struct query *q = &s->agent.query;

	subagent_last_text(&q->text, &q->transcript);
	q->end = QUERY_DONE;
	s->turn_over = true;
	subagent_kick(s);
}

/* The conversation so far is on disk. */
static int begin_again(struct subagent *s, struct err *err)
{
	struct session_load *l = s->load;
	struct agent *a = &s->agent;
	bool goes_on = !s->message.n, over = goes_on && !l->interrupted;
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
	if (status == 0 && s->start_context.n && !over)
		status = subagent_remind(s, buf_str(&s->start_context), err);
	if (status == 0 && !goes_on)
		status = add_prompt(s, buf_str(&s->message), err);
	if (status == 0 && over)
		take_last_answer(s);
	session_load_release(l);
	free(TAKE(s->load));
	buf_clear(&s->message);
	return status;
}

int subagent_initial_messages(struct subagent *s, struct err *err)
{
	return s->load ? begin_again(s, err) : begin_new(s, err);
}
