/* SPDX-License-Identifier: MIT
 * hooks.c - the hooks of an agent's life. */
#include "subagent/hooks.h"
#include "json/json_write.h"

void actor_hook_context(const struct actor *a, struct hook_context *ret)
{
	const struct agent_tree *t = a->tree;

	*ret = (struct hook_context){
		.session_id = t->session_id,
		.transcript_path = t->main.journal ? journal_path(t->main.journal) : NULL,
		.cwd = a->env.cwd,
		.permission_mode = permission_mode_name(permission_mode(&a->permission)),
		.agent_id = a->parent ? a->who.id : NULL,
		.agent_type = a->who.type,
		.project_dir = t->project_dir,
		.envp = t->envp,
		.results_dir = t->results_dir,
	};
}

/* Hooks of a project's agent run only in a folder that the user trusts; those of a plugin wait for its consent. */
static struct hook_set *compile(struct subagent *s)
{
	const struct agent_definition *d = s->definition;
	AUTO_ARENA struct arena arena = { 0 };
	struct diagnostics problems = { .arena = &arena };
	bool trusted = d->source == AGENT_PROJECT ? s->actor.tree->switches.trusted : d->source != AGENT_PLUGIN;

	struct hook_set *set = hook_set_parse(&(struct hook_source){ .layer = HOOK_FROM_AGENT,
								     .file = d->file,
								     .trusted = trusted,
								     .of_subagent = true },
					      str_from(d->hooks), s->actor.tree->hook_policy, &problems);
	for (size_t i = 0; i < problems.count; i++)
		buf_addf(&s->notes, "%s\n", problems.list[i].message);
	if (!trusted)
		buf_addf(&s->notes, "hooks of %s do not run: %s\n", d->name,
			 d->source == AGENT_PLUGIN ? "its plugin is not trusted"
						   : "this folder is not trusted (`cadre trust` records consent)");
	return set;
}

int subagent_register_hooks(struct subagent *s, struct err *err)
{
	(void)err;
	if (s->definition && s->definition->hooks)
		s->hooks = compile(s);
	return 0;
}

static void tell_user(struct actor *a, struct str text)
{
	actor_emit(a, &(struct event){ .kind = EVENT_ERROR, .text = text });
}

void actor_hear_hooks(struct actor *a, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(outcome->contexts[i]));
		query_notice(&a->query, NULL, buf_str(&text));
	}
	for (size_t i = 0; i < outcome->message_count; i++)
		tell_user(a, outcome->messages[i]);
	for (size_t i = 0; i < outcome->note_count; i++)
		tell_user(a, outcome->notes[i]);
	if (outcome->stop)
		query_halt(&a->query, outcome->stop_reason);
}

int subagent_unregister_hooks(struct subagent *s, struct err *err)
{
	(void)err;
	if (s->actor.tree->hooks)
		hook_engine_end_agent(s->actor.tree->hooks, s->task->id);
	hook_set_unref(TAKE(s->hooks));
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
	struct err err = { 0 };

	s->firing = NULL;
	add_context(s, outcome);
	if (outcome->stop)
		err_set(&err, ERR_DENIED, "a SubagentStart hook ended it: " STR_FMT, STR_ARG(outcome->stop_reason));
	subagent_step_done(s, err.kind ? &err : NULL);
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct subagent *s = data;

	s->firing = NULL;
	if (s->end == AGENT_COMPLETED && outcome->blocked && !outcome->stop && !outcome->cancelled) {
		s->stop_blocked = true;
		buf_clear(&s->message);
		buf_add(&s->message, outcome->block_reason.p, outcome->block_reason.n);
	}
	subagent_step_done(s, NULL);
}

static int fire(struct subagent *s, enum hook_event event, struct str fields, hook_done_fn *done)
{
	struct agent_tree *t = s->actor.tree;
	struct hook_context context;
	struct hook_set *sets[] = { t->hook_set, s->hooks };
	struct hook_fire_spec spec = { .event = event,
				       .subject = str_from(s->task->type),
				       .fields = fields,
				       .context = &context,
				       .sets = sets,
				       .set_count = COUNT_OF(sets) };

	if (!t->hooks)
		return 0;
	actor_hook_context(&s->actor, &context);
	if (!hook_wanted(&spec))
		return 0;
	s->firing = hook_fire(t->hooks, &spec, done, s);
	return STEP_TAKES_TIME;
}

int subagent_start_hooks(struct subagent *s, struct err *err)
{
	(void)err;
	s->start_fired = true;
	return fire(s, HOOK_SUBAGENT_START, STR(""), on_started);
}

/* For every end of an agent whose start was told, whatever the end. */
int subagent_stop_hooks(struct subagent *s, struct err *err)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	(void)err;
	if (!s->start_fired)
		return 0;
	json_open(&w, '{');
	json_kbool(&w, "stop_hook_active", s->stop_continued);
	if (s->task->transcript)
		json_kcstr(&w, "agent_transcript_path", s->task->transcript);
	json_kstr(&w, "last_assistant_message", buf_str(&s->actor.query.text));
	json_close(&w);
	return fire(s, HOOK_SUBAGENT_STOP, buf_str(&fields), on_stopped);
}
