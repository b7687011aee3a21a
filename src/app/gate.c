/* SPDX-License-Identifier: MIT
 * gate.c - the host's answers to questions of agents, whichever agent asks. */
#include "app/app_int.h"
#include "app/config.h"
#include "permission/suggest.h"
#include "settings/settings_store.h"
#include "subagent/gate.h"
#include "subagent/question.h"

typedef struct tool_call *find_fn(struct actor *a, const char *call_id);

static struct tool_call *find_question(struct cadre_session *s, const char *id, find_fn *find, struct actor **ret_actor)
{
	struct tool_call *call = find(&s->tree.main, id);

	*ret_actor = &s->tree.main;
	for (struct subagent *c = s->tree.alive; c && !call; c = c->next) {
		call = find(&c->actor, id);
		*ret_actor = &c->actor;
	}
	return call;
}

static int store_rule(struct cadre_session *s, const char *rule, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_spec spec;

	if (app_settings_spec(s->cadre, &a, &spec, err) < 0)
		return -(int)err->kind;
	return settings_add_rule(settings_local_path(&a, &spec), "allow", str_from(rule), err);
}

/* Rules of the session are the main agent's, and so hold for all. */
static int allow_from_now_on(struct cadre_session *s, struct tool_call *call, enum cadre_scope scope)
{
	static const struct rule_origin origin = { .layer = "session" };
	struct suggestions rules;
	struct err err = { 0 };
	int status = 0;

	permission_suggest(&call->arena, call, &rules);
	for (size_t i = 0; i < rules.count; i++) {
		struct err ignored = { 0 };
		(void)permission_add_rule(&s->tree.main.permission, RULE_ALLOW, str_from(rules.rules[i]), &origin, NULL,
					  NULL, &ignored);
		if (scope == CADRE_ALWAYS && status == 0)
			status = store_rule(s, rules.rules[i], &err);
	}
	if (status < 0)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
	return status;
}

int cadre_answer(struct cadre_session *s, const char *id, int allow, enum cadre_scope scope, const char *reason)
{
	AUTO_BUF struct buf text = { 0 };
	struct actor *actor;
	struct tool_call *call = find_question(s, id, actor_question, &actor);
	int status = CADRE_OK;

	if (!call)
		return CADRE_NOT_FOUND;
	if (allow && scope != CADRE_ONCE)
		status = allow_from_now_on(s, call, scope);
	if (!allow)
		buf_addf(&text, "The user does not want %s to run now.%s%s", call->name,
			 reason && reason[0] ? " They said: " : "", reason ? reason : "");
	actor_answer(actor, call, allow, buf_str(&text));
	return status;
}

int cadre_answer_question(struct cadre_session *s, const char *id, const char *answers, size_t n)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct actor *actor;
	struct tool_call *call = find_question(s, id, question_find, &actor);

	if (!call)
		return CADRE_NOT_FOUND;
	if (json_parse(&reader, answers, n, &root, NULL) < 0 || !json_is(root, JSON_OBJECT))
		return CADRE_USAGE;
	question_answer(call, root);
	return CADRE_OK;
}
