/* SPDX-License-Identifier: MIT
 * gate.c - the host's answers to questions of agents, whichever agent asks. */
#include "product/session/session_int.h"
#include "defs/policy/sources.h"
#include "product/session/servers.h"
#include "lib/json/json_write.h"
#include "guard/permission/suggest.h"
#include "config/settings/settings_store.h"
#include "agents/agent/gate.h"
#include "agents/agent/plan.h"
#include "agents/agent/question.h"

typedef struct tool_call *find_fn(struct agent *a, const char *call_id);

static struct tool_call *find_question(struct cadre_session *s, const char *id, find_fn *find, struct agent **ret_agent)
{
	struct tool_call *call = find(&s->tree.main, id);

	*ret_agent = &s->tree.main;
	for (struct agent *c = s->tree.alive; c && !call; c = c->next) {
		call = find(c, id);
		*ret_agent = c;
	}
	return call;
}

/* ---- may a call run? --------------------------------------------------------------------------------------------- */

static const char *rules_file(struct cadre_session *s, struct arena *a, struct err *err)
{
	struct settings_spec spec;

	if (app_settings_spec(s->services, a, &spec, err) < 0)
		return NULL;
	return settings_local_path(a, &spec);
}

const char *cadre_rules_file(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct err err = { 0 };

	if (!s)
		return "";
	if (!s->rules_file) {
		const char *path = rules_file(s, &a, &err);
		s->rules_file = arena_strdup(&s->arena, path ? path : "");
	}
	return s->rules_file;
}

static int store_rule(struct cadre_session *s, const char *rule, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *path = rules_file(s, &a, err);

	if (!path || settings_add_rule(path, "allow", str_from(rule), err) < 0)
		return err_wrap(err, "the rule holds for this session only");
	return 0;
}

/* Rules of the session are the main agent's, and so hold for all. */
static int allow_from_now_on(struct cadre_session *s, struct agent *agent, struct tool_call *call,
			     enum cadre_scope scope, struct err *err)
{
	static const struct rule_origin origin = { .layer = "session" };
	const char *rule = permission_suggest(&call->arena, &agent->permission, tool_call_use(call));

	if (!rule)
		return 0;
	(void)permission_add_rule(&s->tree.main.permission, RULE_ALLOW, str_from(rule), &origin, NULL, NULL, NULL);
	return scope == CADRE_ALWAYS ? store_rule(s, rule, err) : 0;
}

int cadre_answer(struct cadre_session *s, const char *id, int allow, enum cadre_scope scope, const char *reason,
		 char *why, size_t why_size)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	struct agent *agent;
	int status = CADRE_OK;

	if (!s || !id)
		return CADRE_USAGE;
	struct tool_call *call = find_question(s, id, agent_question, &agent);
	if (!call)
		return api_status(err_set(&err, ERR_NOT_FOUND, "nobody asks this"), &err, why, why_size);
	if (allow && (scope == CADRE_FOR_SESSION || scope == CADRE_ALWAYS))
		status = allow_from_now_on(s, agent, call, scope, &err);
	if (allow && scope == CADRE_ACCEPT_EDITS && (call->flags & TOOL_ENDS_PLAN))
		plan_accept_edits(agent);
	if (!allow)
		question_refuse(call, reason, &text);
	agent_answer_question(agent, call, allow, buf_str(&text));
	return api_status(status, &err, why, why_size);
}

/* ---- questions of agents ----------------------------------------------------------------------------------------- */

/* {"the question": "the answer"}, as hooks and programs write it */
static void write_answers(struct buf *out, const struct tool_call *call, const char *const *answers, size_t count)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *questions = json_get(call->input, "questions");
	struct json_out w = json_out(out);
	size_t i = 0;

	json_open(&w, '{');
	for (const struct json *q = json_first(questions); q && i < count; q = json_next(questions, q), i++) {
		if (!answers[i])
			continue;
		json_key_str(&w, json_str(json_get(q, "question"), &a));
		json_put_cstr(&w, answers[i]);
	}
	json_close(&w);
}

int cadre_answer_question(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct json *root;
	struct agent *agent;

	if (!s || !id || (count && !answers))
		return CADRE_USAGE;
	struct tool_call *call = find_question(s, id, question_find, &agent);
	if (!call)
		return session_answer_form(s, id, answers, count);
	if (!count) {
		question_decline(call);
		return CADRE_OK;
	}
	write_answers(&text, call, answers, count);
	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return CADRE_USAGE;
	question_answer(call, root);
	return CADRE_OK;
}
