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

int subagent_register_hooks(struct agent *a, struct err *err)
{
	(void)err;
	if (a->definition)
		agent_register_hooks(a, a->definition, &a->notes);
	return 0;
}

int subagent_unregister_hooks(struct agent *a, struct err *err)
{
	(void)err;
	if (a->tree->hooks)
		hook_engine_end_agent(a->tree->hooks, a->tree->session_id, a->record->id);
	hook_set_unref(TAKE(a->hooks));
	return 0;
}

static void add_context(struct agent *a, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&a->start_context, "%s" STR_FMT, a->start_context.n ? "\n" : "",
			 STR_ARG(outcome->contexts[i]));
}

static void on_started(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;

	a->firing = NULL;
	add_context(a, outcome);
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->stop)
		buf_addf(&a->start_refusal, "a SubagentStart hook ended it: " STR_FMT, STR_ARG(outcome->stop_reason));
	subagent_step_done(a, NULL);
}

/* What it goes on with, if it does: why it may not stop, or something that it should know. */
static void take_message(struct agent *a, const struct hook_outcome *outcome)
{
	buf_clear(&a->message);
	buf_add(&a->message, outcome->block_reason.p, outcome->block_reason.n);
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&a->message, "%s" STR_FMT, a->message.n ? "\n" : "", STR_ARG(outcome->contexts[i]));
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;
	bool more = outcome->blocked || outcome->context_count;

	a->firing = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	if (a->end == AGENT_COMPLETED && more && !outcome->stop && !outcome->cancelled &&
	    a->stop_blocks++ < MOST_STOP_BLOCKS) {
		a->stop_blocked = true;
		take_message(a, outcome);
	}
	subagent_step_done(a, NULL);
}

static struct hook_fire_spec about(const struct agent *a, enum hook_event event)
{
	return (struct hook_fire_spec){ .event = event, .subject = str_from(a->record->type) };
}

static int fire(struct agent *a, struct hook_fire_spec *spec, hook_done_fn *done)
{
	a->firing = agent_run_hooks(a, spec, done, a);
	return STEP_TAKES_TIME;
}

int subagent_start_hooks(struct agent *a, struct err *err)
{
	struct hook_fire_spec spec = about(a, HOOK_SUBAGENT_START);

	(void)err;
	a->start_fired = true;
	return agent_has_hooks(a, &spec) ? fire(a, &spec, on_started) : 0;
}

int subagent_obey_start_hooks(struct agent *a, struct err *err)
{
	return a->start_refusal.n ? err_set(err, ERR_DENIED, "%s", a->start_refusal.p) : 0;
}

/* One that did not come to life has no end of its own: its start is told all the same, so its stop is. */
int subagent_undo_start_hooks(struct agent *a, struct err *err)
{
	return a->lived ? 0 : subagent_stop_hooks(a, err);
}

/* For every end of an agent whose start was told, whatever the end. */
int subagent_stop_hooks(struct agent *a, struct err *err)
{
	struct hook_fire_spec spec = about(a, HOOK_SUBAGENT_STOP);
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	(void)err;
	if (!a->start_fired || !agent_has_hooks(a, &spec))
		return 0;
	json_open(&w, '{');
	json_kbool(&w, "stop_hook_active", a->stop_blocks > 0);
	if (a->record->transcript)
		json_kcstr(&w, "agent_transcript_path", a->record->transcript);
	if (a->query.text.n)
		json_kstr(&w, "last_assistant_message", buf_str(&a->query.text));
	json_close(&w);
	spec.fields = buf_str(&fields);
	return fire(a, &spec, on_stopped);
}
