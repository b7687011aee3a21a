/* SPDX-License-Identifier: MIT
 * hooks.c - the hooks of an agent's life. */
#include "agents/agent/hooks.h"
#include "lib/json/json_write.h"
#include "agents/agent/firing.h"

/* Hooks of a project's agent run only in a folder that the user trusts; those of a plugin wait for its consent. */
void agent_register_hooks(struct agent *a, const struct agent_definition *d, struct buf *notes)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct diagnostics problems = { .arena = &arena };
	const struct agent_tree *t = a->tree;
	bool trusted = d->source == AGENT_PROJECT  ? t->switches.trusted
		       : d->source == AGENT_PLUGIN ? agent_tree_trusts_plugin(t, d->plugin)
						   : true;

	if (!d->hooks)
		return;
	a->hooks = hook_set_parse(
		&(struct hook_source){
			.layer = HOOK_FROM_AGENT, .file = d->file, .trusted = trusted, .of_subagent = a->parent },
		str_from(d->hooks), t->hook_policy, &problems);
	for (size_t i = 0; i < problems.count; i++)
		buf_addf(notes, "%s\n", problems.list[i].message);
	if (!trusted)
		buf_addf(notes, "hooks of %s do not run: %s\n", d->name,
			 d->source == AGENT_PLUGIN ? "its plugin is not trusted"
						   : "this folder is not trusted (`cadre trust` records consent)");
}

int subagent_register_hooks(struct subagent *s, struct err *err)
{
	(void)err;
	if (s->definition)
		agent_register_hooks(&s->agent, s->definition, &s->notes);
	return 0;
}

int subagent_unregister_hooks(struct subagent *s, struct err *err)
{
	(void)err;
	if (s->agent.tree->hooks)
		hook_engine_end_agent(s->agent.tree->hooks, s->agent.tree->session_id, s->record->id);
	hook_set_unref(TAKE(s->agent.hooks));
	return 0;
}

static void add_context(struct subagent *s, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&s->start_context, "%s" STR_FMT, s->start_context.n ? "\n" : "",
			 STR_ARG(outcome->contexts[i]));
}

static void on_started(void *data, const struct hook_outcome *outcome)
{
	struct subagent *s = data;

	s->firing = NULL;
	add_context(s, outcome);
	emit_hook_messages(s->agent.tree, &s->agent.who, outcome);
	if (outcome->stop)
		buf_addf(&s->start_refusal, "a SubagentStart hook ended it: " STR_FMT, STR_ARG(outcome->stop_reason));
	subagent_step_done(s, NULL);
}

/* What it goes on with, if it does: why it may not stop, or something that it should know. */
static void take_message(struct subagent *s, const struct hook_outcome *outcome)
{
	buf_clear(&s->message);
	buf_add(&s->message, outcome->block_reason.p, outcome->block_reason.n);
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&s->message, "%s" STR_FMT, s->message.n ? "\n" : "", STR_ARG(outcome->contexts[i]));
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct subagent *s = data;
	bool more = outcome->blocked || outcome->context_count;

	s->firing = NULL;
	emit_hook_messages(s->agent.tree, &s->agent.who, outcome);
	if (s->end == AGENT_COMPLETED && more && !outcome->stop && !outcome->cancelled &&
	    s->stop_blocks++ < MOST_STOP_BLOCKS) {
		s->stop_blocked = true;
		take_message(s, outcome);
	}
	subagent_step_done(s, NULL);
}

static struct hook_fire_spec about(const struct subagent *s, enum hook_event event)
{
	return (struct hook_fire_spec){ .event = event, .subject = str_from(s->record->type) };
}

static int fire(struct subagent *s, struct hook_fire_spec *spec, hook_done_fn *done)
{
	s->firing = agent_run_hooks(&s->agent, spec, done, s);
	return STEP_TAKES_TIME;
}

int subagent_start_hooks(struct subagent *s, struct err *err)
{
	struct hook_fire_spec spec = about(s, HOOK_SUBAGENT_START);

	(void)err;
	s->start_fired = true;
	return agent_has_hooks(&s->agent, &spec) ? fire(s, &spec, on_started) : 0;
}

int subagent_obey_start_hooks(struct subagent *s, struct err *err)
{
	return s->start_refusal.n ? err_set(err, ERR_DENIED, "%s", s->start_refusal.p) : 0;
}

/* One that did not come to life has no end of its own: its start is told all the same, so its stop is. */
int subagent_undo_start_hooks(struct subagent *s, struct err *err)
{
	return s->lived ? 0 : subagent_stop_hooks(s, err);
}

/* For every end of an agent whose start was told, whatever the end. */
int subagent_stop_hooks(struct subagent *s, struct err *err)
{
	struct hook_fire_spec spec = about(s, HOOK_SUBAGENT_STOP);
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	(void)err;
	if (!s->start_fired || !agent_has_hooks(&s->agent, &spec))
		return 0;
	json_open(&w, '{');
	json_kbool(&w, "stop_hook_active", s->stop_blocks > 0);
	if (s->record->transcript)
		json_kcstr(&w, "agent_transcript_path", s->record->transcript);
	if (s->agent.query.text.n)
		json_kstr(&w, "last_assistant_message", buf_str(&s->agent.query.text));
	json_close(&w);
	spec.fields = buf_str(&fields);
	return fire(s, &spec, on_stopped);
}
