/* SPDX-License-Identifier: MIT
 * elicit.c - what a server wants to know of the user, in the middle of a call:
 *
 *     Elicitation hooks -> the host -> ElicitationResult hooks -> the server
 *
 * The server is shared, so the question goes to the newest session that has it. */
#include "product/session/session_int.h"
#include "product/session/form.h"
#include "product/session/server_approval.h"
#include "product/session/servers.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"

struct elicitation {
	struct elicitation *next;
	struct cadre_session *session;
	struct mcp_elicitation *asked; /* NULL: the server does not want an answer any more */
	struct hook_firing *firing;
	char id[UUID_LEN + 1];
	char *server, *mode;
	char *asked_id;      /* the server's own, of an address; NULL: none */
	struct buf question; /* as the host was asked */
	char action[16];
	struct buf content;
};

static struct cadre_session *session_for(struct services *sv, const struct mcp_server *server)
{
	struct cadre_session *s = sv->sessions;

	while (s && (s->closing || !s->tree.main.servers ||
		     !mcp_selection_find(s->tree.main.servers, str_from(server->name))))
		s = s->next;
	return s;
}

static void elicitation_free(struct elicitation *e)
{
	for (struct elicitation **at = &e->session->elicitations; *at; at = &(*at)->next) {
		if (*at != e)
			continue;
		*at = e->next;
		break;
	}
	free(e->server);
	free(e->mode);
	free(e->asked_id);
	buf_release(&e->content);
	buf_release(&e->question);
	free(e);
}

static void decide(struct elicitation *e, const char *action, struct str content)
{
	snprintf(e->action, sizeof e->action, "%s", action);
	buf_clear(&e->content);
	buf_add(&e->content, content.p, content.n);
}

static void reply(struct elicitation *e)
{
	if (e->asked)
		mcp_elicitation_answer(e->asked, e->action, buf_str(&e->content));
	elicitation_free(e);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/* True: a hook has said what to answer. */
static bool obey(struct elicitation *e, const struct hook_outcome *outcome)
{
	struct str action = outcome->fields[HOOK_ACTION];

	if (outcome->blocked || outcome->cancelled)
		decide(e, "decline", STR(""));
	else if (str_is(action, "\"accept\""))
		decide(e, "accept", outcome->fields[HOOK_CONTENT]);
	else if (str_is(action, "\"decline\"") || str_is(action, "\"cancel\""))
		decide(e, str_is(action, "\"cancel\"") ? "cancel" : "decline", STR(""));
	else
		return false;
	return true;
}

static void on_result_seen(void *data, const struct hook_outcome *outcome)
{
	struct elicitation *e = data;

	e->firing = NULL;
	emit_hook_messages(&e->session->tree, NULL, outcome);
	(void)obey(e, outcome);
	reply(e);
}

static void answer(struct elicitation *e)
{
	struct hook_fire_spec spec = { .event = HOOK_ELICITATION_RESULT, .subject = str_from(e->server) };
	struct agent *a = &e->session->tree.main;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(a, &spec)) {
		reply(e);
		return;
	}
	json_open(&w, '{');
	json_kcstr(&w, "mcp_server_name", e->server);
	json_kcstr(&w, "action", e->action);
	if (e->content.n)
		json_kraw(&w, "content", buf_str(&e->content));
	json_kcstr(&w, "mode", e->mode);
	if (e->asked_id)
		json_kcstr(&w, "elicitation_id", e->asked_id);
	json_close(&w);
	spec.fields = buf_str(&fields);
	e->firing = agent_run_hooks(a, &spec, on_result_seen, e);
}

static void put_question(struct json_out *w, const struct mcp_elicitation *e)
{
	json_open(w, '{');
	json_kcstr(w, "mcp_server_name", e->server);
	json_kstr(w, "message", e->message);
	json_kcstr(w, "mode", e->mode);
	if (e->url)
		json_kcstr(w, "url", e->url);
	if (e->id)
		json_kcstr(w, "elicitation_id", e->id);
	if (e->schema.n)
		json_kraw(w, "requested_schema", e->schema);
	json_close(w);
}

static void ask_host(struct elicitation *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf questions = { 0 };
	struct json_out w = json_out(&e->question);
	const struct json *root;

	buf_clear(&e->question);
	put_question(&w, e->asked);
	if ((!options_can_ask(&e->session->services->options) && !e->session->host_elicits) ||
	    json_parse(&reader, e->question.p, e->question.n, &root, NULL) < 0) {
		decide(e, "decline", STR(""));
		answer(e);
		return;
	}
	form_questions(&questions, root);
	session_emit(e->session, &(struct event){ .kind = EVENT_ELICITATION_ASKED,
						  .name = e->server,
						  .id = e->id,
						  .text = buf_str(&questions),
						  .raw = buf_str(&e->question) });
}

static void on_asked(void *data, const struct hook_outcome *outcome)
{
	struct elicitation *e = data;

	e->firing = NULL;
	emit_hook_messages(&e->session->tree, NULL, outcome);
	if (!e->asked)
		elicitation_free(e);
	else if (obey(e, outcome))
		answer(e);
	else
		ask_host(e);
}

/* ---- from the pool and the host ---------------------------------------------------------------------------------- */

void app_elicit(void *data, const struct mcp_server *server, struct mcp_elicitation *asked)
{
	struct cadre_session *s = session_for(data, server);
	struct hook_fire_spec spec = { .event = HOOK_ELICITATION, .subject = str_from(server->name) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!s) {
		mcp_elicitation_answer(asked, "decline", STR(""));
		return;
	}
	struct elicitation *e = xcalloc(1, sizeof *e);
	*e = (struct elicitation){ .next = s->elicitations,
				   .session = s,
				   .asked = asked,
				   .server = xstrdup(server->name),
				   .mode = xstrdup(asked->mode),
				   .asked_id = asked->id ? xstrdup(asked->id) : NULL };
	id_uuid(e->id);
	s->elicitations = e;
	asked->owner = e;
	if (!agent_has_hooks(&s->tree.main, &spec)) {
		ask_host(e);
		return;
	}
	put_question(&w, asked);
	spec.fields = buf_str(&fields);
	e->firing = agent_run_hooks(&s->tree.main, &spec, on_asked, e);
}

void app_elicit_gone(void *data, struct mcp_elicitation *asked)
{
	struct elicitation *e = asked->owner;

	(void)data;
	if (!e)
		return;
	e->asked = NULL;
	if (e->firing)
		hook_cancel(e->firing); /* it goes when the hooks have ended */
	else
		elicitation_free(e);
}

static struct elicitation *find(const struct cadre_session *s, const char *id)
{
	struct elicitation *e = s->elicitations;

	while (e && (strcmp(e->id, id) != 0 || e->firing))
		e = e->next;
	return e;
}

int session_answer_form(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf content = { 0 };
	struct elicitation *e = find(s, id);
	const struct json *root;

	if (!e)
		return session_answer_approval(s, id, answers, count);
	if (json_parse(&reader, e->question.p, e->question.n, &root, NULL) < 0)
		return CADRE_NOT_FOUND;
	if (!count)
		return cadre_answer_elicitation(s, id, "cancel", NULL);
	bool agreed = form_content(&content, root, answers, count);
	return cadre_answer_elicitation(s, id, agreed ? "accept" : "decline", agreed ? content.p : NULL);
}

int cadre_answer_elicitation(struct cadre_session *s, const char *id, const char *action, const char *content)
{
	static const char *const actions[] = { "accept", "decline", "cancel" };
	bool known = false;

	if (!s || !id || !action)
		return CADRE_USAGE;
	struct elicitation *e = find(s, id);
	for (size_t i = 0; i < COUNT_OF(actions); i++)
		known = known || !strcmp(action, actions[i]);
	if (!e || !known)
		return e ? CADRE_USAGE : CADRE_NOT_FOUND;
	decide(e, action, content ? str_from(content) : STR(""));
	answer(e);
	return CADRE_OK;
}

/* Hooks of the session have ended before: nothing fires any more. */
void session_drop_elicitations(struct cadre_session *s)
{
	while (s->elicitations) {
		struct elicitation *e = s->elicitations;
		if (e->asked)
			mcp_elicitation_answer(TAKE(e->asked), "cancel", STR(""));
		elicitation_free(e);
	}
}
