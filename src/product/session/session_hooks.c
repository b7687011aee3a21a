/* SPDX-License-Identifier: MIT
 * session_hooks.c - what hooks are told about a session and its turns. What their answers do is in session_turn.c. */
#include "product/session/session_int.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"

static bool is_wanted(const struct cadre_session *s, enum hook_event event, const char *subject)
{
	return agent_has_hooks(&s->tree.main, &(struct hook_fire_spec){ .event = event, .subject = str_from(subject) });
}

static bool fire(struct cadre_session *s, enum hook_event event, const char *subject, struct json_out *fields,
		 hook_done_fn *done)
{
	struct hook_fire_spec spec = { .event = event, .subject = str_from(subject) };

	json_close(fields);
	spec.fields = buf_str(fields->buf);
	s->turn.firing = agent_run_hooks(&s->tree.main, &spec, done, s);
	return true;
}

bool session_tell_setup(struct cadre_session *s, hook_done_fn *done)
{
	const char *trigger = s->services->options.setup;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!trigger || s->turn.setup_told)
		return false;
	s->turn.setup_told = true;
	if (!is_wanted(s, HOOK_SETUP, trigger))
		return false;
	json_open(&w, '{');
	json_kcstr(&w, "trigger", trigger);
	return fire(s, HOOK_SETUP, trigger, &w, done);
}

bool session_tell_start(struct cadre_session *s, hook_done_fn *done)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);
	const char *source = s->origin_id ? "fork" : s->load ? "resume" : "startup";

	if (s->turn.start_told)
		return false;
	s->turn.start_told = true;
	if (!is_wanted(s, HOOK_SESSION_START, source))
		return false;
	json_open(&w, '{');
	json_kcstr(&w, "source", source);
	json_kcstr(&w, "model", s->tree.main.model);
	return fire(s, HOOK_SESSION_START, source, &w, done);
}

bool session_tell_prompt(struct cadre_session *s, hook_done_fn *done)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!s->turn.prompt.n || !is_wanted(s, HOOK_USER_PROMPT_SUBMIT, ""))
		return false;
	json_open(&w, '{');
	json_kstr(&w, "prompt", buf_str(&s->turn.prompt));
	return fire(s, HOOK_USER_PROMPT_SUBMIT, "", &w, done);
}

static void put_last_message(struct json_out *w, const struct query *q)
{
	if (q->text.n)
		json_kstr(w, "last_assistant_message", buf_str(&q->text));
}

static void tell_failure(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;
	const char *error = failure_name(&q->failure);
	struct hook_fire_spec spec = { .event = HOOK_STOP_FAILURE, .subject = str_from(error) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!is_wanted(s, HOOK_STOP_FAILURE, error))
		return;
	json_open(&w, '{');
	json_kcstr(&w, "error", error);
	json_kcstr(&w, "error_details", q->failure.text);
	put_last_message(&w, q);
	json_close(&w);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}

/* An interrupt is no stop; a failure is told, and nobody can change it. */
bool session_tell_stop(struct cadre_session *s, hook_done_fn *done)
{
	const struct query *q = &s->tree.main.query;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (q->end == QUERY_MODEL_ERROR)
		tell_failure(s);
	if (q->end != QUERY_DONE || s->closing || !is_wanted(s, HOOK_STOP, ""))
		return false;
	json_open(&w, '{');
	json_kbool(&w, "stop_hook_active", s->turn.stop_blocks > 0);
	put_last_message(&w, q);
	return fire(s, HOOK_STOP, "", &w, done);
}

bool session_tell_end(struct cadre_session *s, hook_done_fn *done)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (s->turn.end_told || !s->turn.start_told || !is_wanted(s, HOOK_SESSION_END, "other"))
		return false;
	s->turn.end_told = true;
	json_open(&w, '{');
	json_kcstr(&w, "reason", "other");
	return fire(s, HOOK_SESSION_END, "other", &w, done);
}
