/* SPDX-License-Identifier: MIT
 * elicit.c - questions of a server to the user, in the middle of a call:
 *
 *     Elicitation hooks -> the host -> ElicitationResult hooks -> the server
 *
 * Connections are shared, so the newest session that uses this one gets the question. */
#include "product/session/server_pool.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"
#include "lib/base/list.h"

static const struct json *form_properties(const struct json *elicitation)
{
	const struct json *p = json_get(json_get(elicitation, "requested_schema"), "properties");

	return json_is(p, JSON_OBJECT) && p->count ? p : NULL;
}

/* Values of "enum", or "const" with a title of "oneOf" and "anyOf". */
static void put_values(struct json_out *w, const struct json *property, struct arena *a)
{
	const struct json *values = json_get(property, "enum");
	const struct json *titled = json_get(property, "oneOf");

	if (json_str_is(json_get(property, "type"), "array"))
		return put_values(w, json_get(property, "items"), a);
	titled = titled ? titled : json_get(property, "anyOf");
	for (const struct json *v = json_first(values); v; v = json_next(values, v)) {
		struct str label = json_str(v, a);
		json_putf(w, "{label:'%.*s', description:''}", STR_ARG(label));
	}
	for (const struct json *v = json_first(titled); v; v = json_next(titled, v)) {
		struct str label = json_str(json_get(v, "const"), a), title = json_str(json_get(v, "title"), a);
		json_putf(w, "{label:'%.*s', description:'%.*s'}", STR_ARG(label), STR_ARG(title));
	}
	if (json_str_is(json_get(property, "type"), "boolean"))
		json_putf(w, "{label:'yes', description:''}, {label:'no', description:''}");
}

/* The form of AskUserQuestion: one question for each property of requested_schema; for an address, or a form without properties:
 * does the user agree? */
static void form_questions(struct buf *out, const struct json *elicitation)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf consent = { 0 };
	const struct json *p = form_properties(elicitation);
	struct str message = json_str(json_get(elicitation, "message"), &a);
	struct str url = json_str(json_get(elicitation, "url"), &a);
	const struct json *required = json_get(json_get(elicitation, "requested_schema"), "required");
	struct json_out w = json_out(out);

	json_putf(&w, "{questions:[");
	for (struct json_member m = json_members(p); m.key; m = json_member_next(p, m)) {
		AUTO_BUF struct buf text = { 0 };
		struct str title = json_str(json_get(m.value, "title"), &a);
		struct str description = json_str(json_get(m.value, "description"), &a);
		const struct json *otherwise = json_get(m.value, "default");

		if (message.n)
			buf_addf(&text, STR_FMT "\n", STR_ARG(message));
		buf_addf(&text, STR_FMT, STR_ARG(title.n ? title : json_str(m.key, &a)));
		if (description.n)
			buf_addf(&text, " (" STR_FMT ")", STR_ARG(description));
		if (otherwise)
			buf_addf(&text, " [" STR_FMT "]", STR_ARG(json_raw(otherwise)));
		json_putf(&w, "{question:'%.*s', options:[", STR_ARG(text));
		put_values(&w, m.value, &a);
		const struct json *need = json_items(required);
		struct str name = json_str(m.key, &a);
		while (need && !str_eq(json_str(need, &a), name))
			need = json_next(required, need);
		json_putf(&w, "], multiSelect:!!%d, name:'%.*s', required:!!%d, schema:%.*s}",
			  json_str_is(json_get(m.value, "type"), "array"), STR_ARG(name), need != NULL,
			  JSON_ARG(m.value));
		message = STR(""); /* above the first one only */
	}
	if (!p) {
		buf_addf(&consent, STR_FMT, STR_ARG(message));
		if (url.n)
			buf_addf(&consent, "\nOpen " STR_FMT " and come back.", STR_ARG(url));
		json_putf(&w,
			  "{question:'%.*s', options:[{label:'yes', description:'%s'}, {label:'no', description:''}]",
			  STR_ARG(consent), url.n ? "it is done" : "");
		json_putf(&w, "multiSelect:false}");
	}
	json_putf(&w, "]}");
}

/* In the type of the schema; an answer that does not fit its type is left out. */
static void put_answer(struct json_out *w, struct json_member m, const char *text, struct arena *a)
{
	const struct json *type = json_get(m.value, "type");
	struct str key = json_str(m.key, a), trimmed = str_trim(str_from(text));
	bool is_whole = json_str_is(type, "integer"), is_number = json_str_is(type, "number");
	int64_t whole;
	double number;

	if ((is_whole && !str_to_i64(trimmed, &whole)) || (is_number && !str_to_double(trimmed, &number)))
		return;
	json_key_str(w, key);
	if (is_whole) {
		json_put_i64(w, whole);
	} else if (is_number) {
		json_put_double(w, number);
	} else if (json_str_is(type, "boolean")) {
		json_put_bool(w, str_is_one_of_nocase(str_from(text), "yes|true|y"));
	} else if (json_str_is(type, "array")) {
		json_open(w, '[');
		for (struct str rest = str_from(text); rest.p;) {
			struct str piece = str_trim(str_cut(&rest, ','));
			if (piece.n)
				json_put_str(w, piece);
		}
		json_close(w);
	} else {
		json_put_cstr(w, text);
	}
}

struct elicitation {
	struct elicitation *next;
	struct cadre_session *session;
	struct mcp_elicitation *asked; /* NULL: the server does not want an answer any more */
	struct hook_batch *hook_batch;
	bool shown; /* its event is being delivered and borrows from it */
	char id[UUID_LEN + 1];
	char *server, *mode;
	char *asked_id;      /* the server's own, of an address; "": none */
	struct buf question; /* the server's, as JSON */
	char action[16];
	struct buf content;
};

static void elicitation_free(struct elicitation *e)
{
	list_drop(&e->session->elicitations, e);
	free(e->server);
	free(e->mode);
	free(e->asked_id);
	buf_release(&e->content);
	buf_release(&e->question);
	free(e);
}

static void elicitation_decide(struct elicitation *e, const char *action, struct str content)
{
	snprintf(e->action, sizeof e->action, "%s", action);
	buf_clear(&e->content);
	buf_add(&e->content, content.p, content.n);
}

static void elicitation_reply(struct elicitation *e)
{
	if (e->asked)
		mcp_elicitation_answer(TAKE(e->asked), e->action, buf_str(&e->content));
	if (!e->shown)
		elicitation_free(e);
}

/* True: a hook has given the answer. */
static bool elicitation_apply_hooks(struct elicitation *e, const struct hook_outcome *outcome)
{
	struct str action = outcome->fields[HOOK_ACTION];

	if (outcome->blocked || outcome->cancelled)
		elicitation_decide(e, "decline", STR(""));
	else if (str_is(action, "\"accept\""))
		elicitation_decide(e, "accept", outcome->fields[HOOK_CONTENT]);
	else if (str_is(action, "\"decline\"") || str_is(action, "\"cancel\""))
		elicitation_decide(e, str_is(action, "\"cancel\"") ? "cancel" : "decline", STR(""));
	else
		return false;
	return true;
}

static void on_result_seen(void *data, const struct hook_outcome *outcome)
{
	struct elicitation *e = data;

	e->hook_batch = NULL;
	emit_hook_messages(&e->session->tree, NULL, outcome);
	(void)elicitation_apply_hooks(e, outcome);
	elicitation_reply(e);
}

static void elicitation_answer(struct elicitation *e)
{
	e->hook_batch = agent_run_hooksf(
		&e->session->tree.main, HOOK_ELICITATION_RESULT, e->server, on_result_seen, e,
		"{mcp_server_name:'%s', action:'%s', content?:%.*s, mode:'%s', elicitation_id?:'%s'}", e->server,
		e->action, STR_ARG(e->content), e->mode, e->asked_id[0] ? e->asked_id : NULL);
	if (!e->hook_batch)
		elicitation_reply(e);
}

static void elicitation_ask_host(struct elicitation *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf questions = { 0 };
	const struct json *root;

	if ((!options_can_ask(&e->session->tree.policy->options) && !e->session->host_elicits) ||
	    json_parse(&reader, e->question.p, e->question.n, &root, NULL) < 0) {
		elicitation_decide(e, "decline", STR(""));
		elicitation_answer(e);
		return;
	}
	form_questions(&questions, root);
	e->shown = true;
	session_emit(e->session, &(struct event){ .kind = EVENT_ELICITATION_ASKED,
						  .name = e->server,
						  .id = e->id,
						  .text = buf_str(&questions),
						  .raw = buf_str(&e->question) });
	e->shown = false;
	if (!e->asked) /* answered inside the event */
		elicitation_free(e);
}

static void on_asked(void *data, const struct hook_outcome *outcome)
{
	struct elicitation *e = data;

	e->hook_batch = NULL;
	emit_hook_messages(&e->session->tree, NULL, outcome);
	if (!e->asked)
		elicitation_free(e);
	else if (elicitation_apply_hooks(e, outcome))
		elicitation_answer(e);
	else
		elicitation_ask_host(e);
}

void services_elicit(void *data, const struct mcp_client *client, struct mcp_elicitation *asked)
{
	const struct mcp_server *server = mcp_client_server(client);
	struct services *sv = data;
	struct cadre_session *s = sv->sessions;

	while (s && (s->closing || !s->tree.main.servers || !mcp_selection_has_client(s->tree.main.servers, client)))
		s = s->next;
	if (!s || permission_forbids_server(&s->tree.main.permission, server->name)) {
		mcp_elicitation_answer(asked, "decline", STR(""));
		return;
	}
	struct elicitation *e = xnew(struct elicitation, .next = s->elicitations, .session = s, .asked = asked,
				     .server = xstrdup(server->name), .mode = xstrdup(asked->mode),
				     .asked_id = xstrdup(asked->id ? asked->id : ""));
	id_uuid(e->id);
	s->elicitations = e;
	asked->owner = e;
	json_addf(&e->question,
		  "{mcp_server_name:'%s', message:'%.*s', mode:'%s', url?:'%s', elicitation_id?:'%s', "
		  "requested_schema?:%.*s}",
		  asked->server, STR_ARG(asked->message), asked->mode, asked->url && asked->url[0] ? asked->url : NULL,
		  asked->id && asked->id[0] ? asked->id : NULL, STR_ARG(asked->schema));
	e->hook_batch = agent_run_hooksf(&s->tree.main, HOOK_ELICITATION, server->name, on_asked, e, "%.*s",
					 STR_ARG(e->question));
	if (!e->hook_batch)
		elicitation_ask_host(e);
}

void services_elicit_gone(void *data, struct mcp_elicitation *asked)
{
	struct elicitation *e = asked->owner;

	if (!e)
		return;
	e->asked = NULL;
	if (e->hook_batch) {
		hook_cancel(e->hook_batch); /* it is freed when the hooks have ended */
		return;
	}
	session_emit(e->session, &(struct event){ .kind = EVENT_QUESTION_CLOSED,
						  .id = e->id,
						  .text = STR("the server does not wait for it any more") });
	elicitation_free(e);
}

static struct elicitation *elicitation_find(const struct cadre_session *s, const char *id)
{
	struct elicitation *e = s->elicitations;

	while (e && (strcmp(e->id, id) != 0 || e->hook_batch || !e->asked))
		e = e->next;
	return e;
}

int session_answer_form(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf content = { 0 };
	struct json_out w = json_out(&content);
	struct elicitation *e = elicitation_find(s, id);
	const struct json *root;
	size_t i = 0;

	if (!e)
		return session_answer_approval(s, id, answers, count);
	if (json_parse(&reader, e->question.p, e->question.n, &root, NULL) < 0)
		return CADRE_NOT_FOUND;
	if (!count)
		return cadre_answer_elicitation(s, id, "cancel", NULL);
	const struct json *p = form_properties(root);
	if (!p && (!answers[0] || !str_is_one_of_nocase(str_from(answers[0]), "yes|true|y")))
		return cadre_answer_elicitation(s, id, "decline", NULL);
	json_open(&w, '{');
	for (struct json_member m = json_members(p); m.key && i < count; m = json_member_next(p, m), i++)
		if (answers[i] && answers[i][0])
			put_answer(&w, m, answers[i], &a);
	json_close(&w);
	return cadre_answer_elicitation(s, id, "accept", content.p);
}

int cadre_answer_elicitation(struct cadre_session *s, const char *id, const char *action, const char *content)
{
	static const char *const actions[] = { "accept", "decline", "cancel" };
	bool known = false;

	if (!s || !id || !action)
		return CADRE_USAGE;
	struct elicitation *e = elicitation_find(s, id);
	for (size_t i = 0; i < COUNT_OF(actions); i++)
		known = known || !strcmp(action, actions[i]);
	if (!e || !known)
		return e ? CADRE_USAGE : CADRE_NOT_FOUND;
	elicitation_decide(e, action, content ? str_from(content) : STR(""));
	elicitation_answer(e);
	return CADRE_OK;
}

/* The hooks of the session have ended before. */
void session_drop_elicitations(struct cadre_session *s)
{
	while (s->elicitations) {
		struct elicitation *e = s->elicitations;
		if (e->asked)
			mcp_elicitation_answer(TAKE(e->asked), "cancel", STR(""));
		elicitation_free(e);
	}
}
