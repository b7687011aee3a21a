/* SPDX-License-Identifier: MIT
 * todo_hook.c - TaskCreated and TaskCompleted. */
#include "agents/agent/todo_hook.h"
#include "lib/json/json_write.h"
#include "agents/agent/firing.h"
#include "agents/agent/subagent.h"

/* In the call's arena */
struct showing {
	struct tool_call *call;
	struct hook_firing *firing; /* NULL: it is over */
	todo_seen_fn *then;
	const char *id;
};

static void on_seen(void *data, const struct hook_outcome *outcome)
{
	struct showing *s = data;
	struct str refusal = { 0 };

	s->firing = NULL;
	if (outcome->cancelled)
		refusal = STR("interrupted");
	else
		agent_apply_hook_outcome(s->call->env->owner, outcome);
	if (!outcome->cancelled && outcome->blocked)
		refusal = outcome->block_reason.n ? outcome->block_reason : STR("a hook refused it");
	s->then(s->call, s->id, refusal);
}

static void put_fields(struct json_out *w, const struct agent *a, const struct todo_words *words)
{
	json_open(w, '{');
	json_kcstr(w, "task_id", words->id);
	json_kcstr(w, "task_subject", words->subject);
	json_kcstr(w, "task_description", words->description);
	if (a->parent && a->record->name)
		json_kcstr(w, "teammate_name", a->record->name);
	json_close(w);
}

void todo_show(struct tool_call *call, bool completed, const struct todo_words *words, todo_seen_fn *then)
{
	struct agent *a = call->env->owner;
	struct hook_fire_spec spec = { .event = completed ? HOOK_TASK_COMPLETED : HOOK_TASK_CREATED };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(a, &spec)) {
		then(call, arena_strdup(&call->arena, words->id), (struct str){ 0 });
		return;
	}
	put_fields(&w, a, words);
	spec.fields = buf_str(&fields);
	struct showing *s = arena_calloc(&call->arena, sizeof *s);
	*s = (struct showing){ .call = call, .then = then, .id = arena_strdup(&call->arena, words->id) };
	call->state = s;
	s->firing = agent_run_hooks(a, &spec, on_seen, s);
}

void todo_show_cancel(struct tool_call *call)
{
	struct showing *s = call->state;

	if (s && s->firing)
		hook_cancel(s->firing);
}
