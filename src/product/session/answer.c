/* SPDX-License-Identifier: MIT
 * answer.c - answers to questions of all agents of a session: from the host, or from a permission prompt tool. */
#include "agents/team/pane.h"
#include "defs/policy/sources.h"
#include "product/session/server_pool.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "config/settings/settings_store.h"
#include "config/settings/trust.h"
#include "agents/agent/gate.h"
#include "agents/agent/question.h"
#include "product/session/session.h"
#include "lib/io/file.h"
#include "lib/json/json_schema.h"

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

const char *cadre_rules_file(struct cadre_session *s)
{
	if (!s)
		return "";
	if (!s->rules_file)
		s->rules_file = settings_local_path(&s->arena, settings_source(s->tree.policy->settings));
	return s->rules_file;
}

/* The session may be closed before a change that waits is made. */
struct stored_for {
	struct services *services;
	char session_id[UUID_LEN + 1];
};

static void on_setting_stored(void *data, const struct err *err)
{
	struct stored_for *to = data;
	struct cadre_session *s = session_by_id(to->services, to->session_id);

	if (err->kind && s && !s->closing)
		session_emit_error(s, "a setting was not stored: %s", err->text);
	services_busy(to->services, -1);
	free(to);
}

int session_store_setting(struct cadre_session *s, const struct settings_change *c, struct err *err)
{
	struct services *sv = s->services;

	if (settings_check_target(settings_source(s->tree.policy->settings), c->path, err) < 0)
		return -(int)err->kind;
	struct stored_for *to = xnew(struct stored_for, .services = sv);

	snprintf(to->session_id, sizeof to->session_id, "%s", s->id);
	trust_note_local(sv->store.config_dir, c->path);
	int status = settings_store(&sv->changes, c, on_setting_stored, to, err);
	if (status == CHANGE_LATER)
		services_busy(sv, 1); /* a run does not end before its changes are made */
	else
		free(to);
	return MIN(status, 0);
}

/* Rules of the session are the main agent's, and so hold for all; members in panes get them. */
static int add_allow_rule(struct cadre_session *s, const char *rule, enum cadre_scope scope, struct err *err)
{
	static const struct rule_origin origin = { .layer = "session" };

	if (!rule || !rule[0])
		return 0;
	(void)permission_add_rule(&s->tree.main.permission, RULE_ALLOW, str_from(rule), &origin, NULL, NULL, NULL);
	pane_tell_rule(&s->tree, rule);
	if (scope != CADRE_ALWAYS)
		return 0;
	const struct str names[] = { STR("permissions"), STR("allow") };
	if (session_store_setting(s,
				  &(struct settings_change){ .path = cadre_rules_file(s),
							     .names = names,
							     .count = COUNT_OF(names),
							     .edit = SETTINGS_LIST_ADD,
							     .list_kind = "a list of rules",
							     .items = &rule,
							     .item_count = 1 },
				  err) < 0)
		return err_wrap(err, "the rule holds for this session only");
	return 0;
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
	bool keeps = allow && (scope == CADRE_FOR_SESSION || scope == CADRE_ALWAYS);
	struct tool_call *call = find_question(s, id, agent_question, &agent);
	const struct pane_ask *ask = call ? NULL : pane_question(&s->tree, id);
	if (ask) { /* of a member in a pane */
		if (keeps)
			(void)add_allow_rule(s, ask->rule, scope, &err);
		buf_addf(&text, "The user does not want %s to run now.%s%s", ask->tool,
			 reason && reason[0] ? " They said: " : "", reason ? reason : "");
		if (allow)
			(void)pane_decide(&s->tree, id, STR("{\"behavior\":\"allow\"}"));
		else
			pane_refuse(&s->tree, id, buf_str(&text));
		return api_status(-(int)err.kind, &err, why, why_size);
	}
	if (!call)
		return api_status(err_set(&err, ERR_NOT_FOUND, "no such question"), &err, why, why_size);
	if (keeps && reason && reason[0]) {
		static const struct rule_origin origin = { .layer = "session" };
		struct rule checked;
		if (rule_parse(&call->arena, RULE_ALLOW, str_from(reason), &origin, NULL, NULL, &checked, &err) < 1)
			return api_status(err_set(&err, ERR_USAGE, "'%s' is not a rule", reason), &err, why, why_size);
		rule_release(&checked);
	}
	if (keeps)
		status = add_allow_rule(
			s,
			reason && reason[0] ? reason
					    : permission_suggest(&call->arena, &agent->permission, tool_call_use(call)),
			scope, &err);
	if (allow && scope == CADRE_ACCEPT_EDITS && (call->flags & TOOL_ENDS_PLAN))
		agent->plan.accept_edits = true;
	if (!allow)
		question_refuse(call, reason, &text);
	agent_answer_question(agent, call, allow, buf_str(&text));
	return api_status(status, &err, why, why_size);
}

int cadre_answer_question(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *root;
	struct agent *agent;
	size_t i = 0;

	if (!s || !id || (count && !answers))
		return CADRE_USAGE;
	struct tool_call *call = find_question(s, id, question_find, &agent);
	const struct pane_ask *ask = call ? NULL : pane_question(&s->tree, id);
	if (!call && !ask)
		return session_answer_form(s, id, answers, count);
	if (!count) {
		if (call)
			question_decline(call);
		else
			(void)pane_decide(&s->tree, id, STR("{\"behavior\":\"deny\"}"));
		return CADRE_OK;
	}
	const struct json *input = call ? call->input : NULL;
	AUTO_JSON struct json_reader asked = { 0 };
	if (ask && json_parse(&asked, ask->input.p, ask->input.n, &input, NULL) < 0)
		return CADRE_USAGE;
	/* {"the question": "the answer"}, as hooks and programs write it */
	const struct json *questions = json_get(input, "questions");
	json_open(&w, '{');
	for (const struct json *q = json_first(questions); q && i < count; q = json_next(questions, q), i++) {
		if (!answers[i])
			continue;
		json_key_str(&w, json_str(json_get(q, "question"), &a));
		json_put_cstr(&w, answers[i]);
	}
	json_close(&w);
	if (ask) {
		AUTO_BUF struct buf decision = { 0 };
		json_addf(&decision, "{behavior:'allow', updatedInput:{answers:%s}}", text.p);
		(void)pane_decide(&s->tree, id, buf_str(&decision));
		return CADRE_OK;
	}
	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return CADRE_USAGE;
	question_answer(call, root);
	return CADRE_OK;
}

/* --permission-prompt-tool: it gets {"tool_name","input","tool_use_id"} and answers {"behavior":"allow","updatedInput":..} or
 * {"behavior":"deny","message":..}. Anything else is a refusal. */
struct permission_query {
	struct services *services;
	char *session_id, *agent_id, *call_id;
};

static void on_tool_answer(void *data, const struct server_reply *reply)
{
	struct permission_query *q = data;
	struct cadre_session *s = session_by_id(q->services, q->session_id);
	struct agent *a = s ? agent_tree_find(&s->tree, q->agent_id) : NULL;
	struct tool_call *call = a ? agent_question(a, q->call_id) : NULL;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf why = { 0 };
	const struct json *root = NULL;

	if (reply->failed || json_parse(&reader, reply->text.p, reply->text.n, &root, NULL) < 0)
		root = NULL;
	bool decides =
		json_str_is(json_get(root, "behavior"), "allow") || json_str_is(json_get(root, "behavior"), "deny");
	if (!decides)
		buf_addf(&why, "The permission tool %s: " STR_FMT, reply->failed ? "failed" : "gave no decision",
			 STR_ARG(reply->text));
	if (call && decides)
		(void)agent_decide(a, call, root);
	else if (call)
		agent_answer_question(a, call, false, buf_str(&why));
	else if (s && decides)
		(void)pane_decide(&s->tree, q->call_id, json_raw(root));
	else if (s)
		pane_refuse(&s->tree, q->call_id, buf_str(&why));
	free(q->session_id);
	free(q->agent_id);
	free(q->call_id);
	free(q);
}

void prompt_tool_ask(struct cadre_session *s, const struct event *e)
{
	struct agent *a = agent_tree_find(&s->tree, e->agent ? e->agent->id : "");
	struct tool_call *call = a ? agent_question(a, e->id) : NULL;
	const struct pane_ask *ask = call ? NULL : pane_question(&s->tree, e->id); /* of a member in a pane */
	AUTO_BUF struct buf question = { 0 };
	struct err err = { 0 };

	if (!call && !ask)
		return;
	struct permission_query *q =
		xnew(struct permission_query, .services = s->services, .session_id = xstrdup(s->id),
		     .agent_id = xstrdup(e->agent ? e->agent->id : ""), .call_id = xstrdup(e->id));
	json_addf(&question, "{tool_name:'%s', input:%.*s, tool_use_id:'%s'}", call ? call->tool->name : ask->tool,
		  STR_ARG(call ? json_raw(call->input) : ask->input), e->id);
	/* mcp__SERVER__TOOL: as everywhere, the name of a server has no "__" */
	const char *server = s->tree.policy->options.permission_prompt_tool + strlen("mcp__");
	const char *end = strstr(server, "__");
	struct server_call_spec spec = { .server = { server, end ? (size_t)(end - server) : strlen(server) },
					 .tool = str_from(end ? end + 2 : ""),
					 .arguments = buf_str(&question),
					 .policy = { .apart = true, .chosen = true } };
	if (!server_call_start(s, &spec, on_tool_answer, q, &err))
		on_tool_answer(q, &(struct server_reply){ .failed = true, .text = str_from(err.text) });
}

/* StructuredOutput. Every tool call is checked against its schema elsewhere; this file counts failures, keeps the
 * output, and asks again when the model stops without it. */

enum { MOST_TRIES = 5, LARGEST_SCHEMA = 1 << 20 };

static const char tool_name[] = "StructuredOutput";
static const char description[] =
	"Gives the final answer in the form that was asked for: its input is the answer. Call it exactly once, when the work is "
	"done; a text alone does not count as the answer.";
static const char reminder[] = "The answer is still missing: call StructuredOutput with it now. A text does not count.";

static void output_start(struct tool_call *call)
{
	struct cadre_session *s = call->tool->ctx;
	struct str json = json_raw(call->input);

	if (call->env->owner != &s->tree.main) {
		tool_call_fail(call, "Only the main agent gives the final answer.");
		return;
	}
	buf_clear(&s->schema->output);
	buf_add(&s->schema->output, json.p, json.n);
	s->tree.main.query.satisfied = true;
	tool_call_finish(call, STR("The answer was taken."));
}

/* Tools have objects as their input: a schema without a type gets it here. */
static int define_tool(struct cadre_session *s, struct buf *definition, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_SCHEMA } };
	AUTO_BUF struct buf text = { 0 }, typed = { 0 };
	struct json_out w = json_out(definition);
	struct str given = str_trim(str_from(s->services->options.json_schema));
	const struct json *root;

	if (given.n && char_in(given.p[0], "{["))
		buf_add(&text, given.p, given.n);
	else if (file_read(path_absolute(&a, s->tree.main.cwd, str_from(s->services->options.json_schema)),
			   LARGEST_SCHEMA, &text, err) < 0)
		return -(int)err->kind;
	if (json_parse(&reader, text.p ? text.p : "", text.n, &root, err) < 0 || json_schema_form(root, err) < 0)
		return -(int)err->kind;
	const struct json *type = json_get(root, "type");
	struct str raw = json_raw(root);
	if (!json_is(root, JSON_OBJECT) || (type && !json_str_is(type, "object")))
		return err_set(err, ERR_PARSE, "the answer must be an object: 'type' must be object at the top");
	buf_addf(&typed, "{\"type\":\"object\"%s" STR_FMT, root->count ? "," : "", (int)raw.n - 1, raw.p + 1);
	json_putf(&w, "{name:'%s', description:'%s'", tool_name, description);
	json_kraw(&w, "input_schema", type ? raw : buf_str(&typed));
	json_close(&w);
	return 0;
}

int session_open_schema(struct cadre_session *s, struct err *err)
{
	AUTO_BUF struct buf definition = { 0 };

	if (!s->services->options.json_schema)
		return 0;
	if (define_tool(s, &definition, err) < 0) {
		err->kind = ERR_USAGE;
		return err_wrap(err, "--json-schema is not a valid JSON Schema");
	}
	s->schema = xcalloc(1, sizeof *s->schema);
	s->schema->tool = (struct tool){ .name = tool_name,
					 .definition = arena_strdup(&s->arena, definition.p),
					 .flags = TOOL_READ_ONLY | TOOL_NO_ASK,
					 .ctx = s,
					 .start = output_start };
	s->tree.answer_tool = &s->schema->tool;
	return 0;
}

void structured_output_on_event(struct cadre_session *s, const struct event *event)
{
	bool of_child = event->agent && event->agent->id[0];

	if (s->schema && !s->schema->output.n && event->kind == EVENT_TOOL_ENDED && event->is_error && !of_child &&
	    !strcmp(event->name, tool_name) && ++s->schema->tries >= MOST_TRIES)
		query_halt(&s->tree.main.query, STR("no answer fitted"));
}

bool structured_output_retry(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct schema *x = s->schema;
	struct err err = { 0 };

	if (!x || x->output.n || s->turn.interrupted)
		return false;
	bool used_up = q->end == QUERY_HALTED && x->tries >= MOST_TRIES;
	if (!used_up && q->end != QUERY_DONE)
		return false;
	if (used_up || ++x->tries >= MOST_TRIES) {
		q->end = QUERY_UNSTRUCTURED;
		return false;
	}
	struct segment *block = segment_text(str_from(reminder));
	if (query_add_user(q, &block, 1, true, &err) < 0) {
		query_end_disk(q, &err);
		return false;
	}
	query_continue(q);
	return true;
}

struct str schema_output(const struct cadre_session *s)
{
	return s->schema ? buf_str(&s->schema->output) : STR("");
}
