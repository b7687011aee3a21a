/* SPDX-License-Identifier: MIT
 * model_switch.c - another model for the main agent, if the hooks of the user allow it. */
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "product/session/session.h"

struct model_switch {
	struct cadre_session *session;
	char *wish, *from; /* wish: NULL for the model of the start */
	const char *source;
	model_switch_fn *done;
	void *data;
};

#define SWITCH_FIELDS "{from_model:'%s', to_model:'%s', requested_model:'%s', source:'%s'}"

static int set_model(struct cadre_session *s, const char *from, const char *wish, const char *source, struct err *err)
{
	struct agent *a = &s->tree.main;

	if (agent_set_model(a, wish, err) < 0)
		return -(int)err->kind;
	agent_follow_mode(a);
	agent_renew_head(a);
	agent_notify_hooksf(a, HOOK_POST_MODEL_SWITCH, "", SWITCH_FIELDS, from, a->model, wish ? wish : "default",
			    source);
	return 0;
}

static void on_looked_at(void *data, const struct hook_outcome *outcome)
{
	struct model_switch *m = data;
	struct err err = { 0 };

	if (outcome->cancelled)
		err_set(&err, ERR_CANCELLED, "the session ends");
	else if (outcome->permission == HOOK_PERMISSION_DENY)
		err_set(&err, ERR_DENIED, "a PreModelSwitch hook refused it: " STR_FMT,
			STR_ARG(outcome->permission_reason));
	else
		(void)set_model(m->session, m->from, m->wish, m->source, &err);
	m->done(m->data, err.kind ? &err : NULL);
	free(m->wish);
	free(m->from);
	free(m);
}

int session_switch_model(struct cadre_session *s, const char *wish, const char *source, model_switch_fn *done,
			 void *data, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct hook_event_spec spec = { .event = HOOK_PRE_MODEL_SWITCH };
	const char *model = s->tree.main.model, *to;

	if (wish && !strcmp(wish, "default"))
		wish = NULL;
	if (!agent_has_hooks(&s->tree.main, &spec))
		return set_model(s, arena_strdup(&a, model), wish, source, err);
	if (!(to = agent_find_model(&s->tree.main, wish, err)))
		return -(int)err->kind;
	struct model_switch *m = xnew(struct model_switch, .session = s, .wish = wish ? xstrdup(wish) : NULL,
				      .from = xstrdup(model), .source = source, .done = done, .data = data);
	(void)agent_run_hooksf(&s->tree.main, HOOK_PRE_MODEL_SWITCH, NULL, on_looked_at, m, SWITCH_FIELDS, model, to,
			       wish ? wish : "default", source);
	return MODEL_SWITCH_ASKED;
}
