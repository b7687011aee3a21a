/* SPDX-License-Identifier: MIT
 * elicit.c - what a server wants to know of the user, in the middle of a call:
 *
 *     Elicitation hooks -> the host -> ElicitationResult hooks -> the server
 *
 * The server is shared, so the question goes to the newest session that has it. */
#include "product/session/session_int.h"
#include "product/session/server_pool.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"

/* ---- a form, as questions that a person can be asked one after the other ---------------------------------------------- */

static const struct json *properties(const struct json *elicitation)
{
	const struct json *p = json_get(json_get(elicitation, "requested_schema"), "properties");

	return json_is(p, JSON_OBJECT) && p->count ? p : NULL;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void put_option(struct json_out *w, struct str label, struct str meaning)
{
	json_open(w, '{');
	json_kstr(w, "label", label);
	json_kstr(w, "description", meaning);
	json_close(w);
}

/* Values of "enum", or "const" with a title of "oneOf" and "anyOf". */
static void put_values(struct json_out *w, const struct json *property, struct arena *a)
{
	const struct json *values = json_get(property, "enum");
	const struct json *titled = json_get(property, "oneOf");

	if (json_str_is(json_get(property, "type"), "array"))
		return put_values(w, json_get(property, "items"), a);
	titled = titled ? titled : json_get(property, "anyOf");
	for (const struct json *v = json_first(values); v; v = json_next(values, v))
		put_option(w, json_str(v, a), STR(""));
	for (const struct json *v = json_first(titled); v; v = json_next(titled, v))
		put_option(w, json_str(json_get(v, "const"), a), json_str(json_get(v, "title"), a));
	if (json_str_is(json_get(property, "type"), "boolean")) {
		put_option(w, STR("yes"), STR(""));
		put_option(w, STR("no"), STR(""));
	}
}

static void put_property(struct json_out *w, struct str message, struct json_member m, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 };
	struct str title = json_str(json_get(m.value, "title"), a);
	struct str description = json_str(json_get(m.value, "description"), a);
	const struct json *otherwise = json_get(m.value, "default");

	if (message.n)
		buf_addf(&text, STR_FMT "\n", STR_ARG(message));
	buf_addf(&text, STR_FMT, STR_ARG(title.n ? title : json_str(m.key, a)));
	if (description.n)
		buf_addf(&text, " (" STR_FMT ")", STR_ARG(description));
	if (otherwise)
		buf_addf(&text, " [" STR_FMT "]", STR_ARG(json_raw(otherwise)));
	json_open(w, '{');
	json_kstr(w, "question", buf_str(&text));
	json_key(w, "options");
	json_open(w, '[');
	put_values(w, m.value, a);
	json_close(w);
	json_kbool(w, "multiSelect", json_str_is(json_get(m.value, "type"), "array"));
	json_close(w);
}

static void put_consent(struct json_out *w, const struct json *elicitation, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 };
	struct str url = json_str(json_get(elicitation, "url"), a);

	buf_addf(&text, STR_FMT, STR_ARG(json_str(json_get(elicitation, "message"), a)));
	if (url.n)
		buf_addf(&text, "\nOpen " STR_FMT " and come back.", STR_ARG(url));
	json_open(w, '{');
	json_kstr(w, "question", buf_str(&text));
	json_key(w, "options");
	json_open(w, '[');
	put_option(w, STR("yes"), url.n ? STR("it is done") : STR(""));
	put_option(w, STR("no"), STR(""));
	json_close(w);
	json_kbool(w, "multiSelect", false);
	json_close(w);
}

/* {"questions":[{"question","options":[{"label","description"}],"multiSelect"}]}, the form of AskUserQuestion: one for each
 * property of requested_schema; for an address, or a form without properties, whether the user agrees. */
static void form_questions(struct buf *out, const struct json *elicitation)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *p = properties(elicitation);
	struct str message = json_str(json_get(elicitation, "message"), &a);
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_key(&w, "questions");
	json_open(&w, '[');
	for (struct json_member m = json_members(p); m.key; m = json_member_next(p, m)) {
		put_property(&w, message, m, &a);
		message = STR(""); /* above the first one only */
	}
	if (!p)
		put_consent(&w, elicitation, &a);
	json_close(&w);
	json_close(&w);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static bool is_yes(const char *text)
{
	return str_is_nocase(str_from(text), "yes") || str_is_nocase(str_from(text), "true") ||
	       str_is_nocase(str_from(text), "y");
}

static void put_list(struct json_out *w, const char *text)
{
	struct str rest = str_from(text);

	json_open(w, '[');
	while (rest.p) {
		struct str piece = str_trim(str_cut(&rest, ','));
		if (piece.n)
			json_put_str(w, piece);
	}
	json_close(w);
}

static void put_answer(struct json_out *w, struct json_member m, const char *text, struct arena *a)
{
	const struct json *type = json_get(m.value, "type");
	struct str key = json_str(m.key, a);
	int64_t whole;
	double number;

	if (json_str_is(type, "integer")
		    ? !str_to_i64(str_trim(str_from(text)), &whole)
		    : json_str_is(type, "number") && !str_to_double(str_trim(str_from(text)), &number))
		return;
	json_key_str(w, key);
	if (json_str_is(type, "integer"))
		json_put_i64(w, whole);
	else if (json_str_is(type, "number"))
		json_put_double(w, number);
	else if (json_str_is(type, "boolean"))
		json_put_bool(w, is_yes(text));
	else if (json_str_is(type, "array"))
		put_list(w, text);
	else
		json_put_cstr(w, text);
}

/* The answers in the types of the schema; one that is NULL or does not fit its type is left out. True: the user agreed. */
static bool form_content(struct buf *out, const struct json *elicitation, const char *const *answers, size_t count)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *p = properties(elicitation);
	struct json_out w = json_out(out);
	size_t i = 0;

	if (!p) {
		buf_addstr(out, "{}");
		return count && answers[0] && is_yes(answers[0]);
	}
	json_open(&w, '{');
	for (struct json_member m = json_members(p); m.key && i < count; m = json_member_next(p, m), i++)
		if (answers[i] && answers[i][0])
			put_answer(&w, m, answers[i], &a);
	json_close(&w);
	return true;
}

/* ---- an elicitation --------------------------------------------------------------------------------------------------- */

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
