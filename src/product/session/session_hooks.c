/* SPDX-License-Identifier: MIT
 * session_hooks.c - hooks around a session and its turns: Setup, SessionStart, UserPromptSubmit, Stop, StopFailure, SessionEnd,
 * and ConfigChange for settings that have changed since the last turn. What their outcome leads to is decided in turn.c. */
#include "product/session/session_int.h"
#include "lib/json/json_write.h"
#include "mcp/servers/config.h"
#include "agents/agent/hooks.h"
#include "agents/agent/skill_use.h"
#include "config/catalog/catalog.h"

/* ---- their outcome ----------------------------------------------------------------------------------------------- */

/* The title may be anything, and none is worth a failure. */
static void apply_title(struct cadre_session *s, struct str json)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (!json.n || json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return;
	struct str title = str_trim(json_str(root, &a));
	if (title.n && s->tree.main.journal)
		(void)session_set_title(s, title, NULL);
}

void session_apply_hook_outcome(struct cadre_session *s, const struct hook_outcome *outcome)
{
	struct buf *context = &s->turn.context;

	s->turn.firing = NULL;
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(context, "%s" STR_FMT, context->n ? "\n" : "", STR_ARG(outcome->contexts[i]));
	emit_hook_messages(&s->tree, NULL, outcome);
	apply_title(s, outcome->fields[HOOK_SESSION_TITLE]);
	session_watch_more(s, outcome);
	if (str_is(outcome->fields[HOOK_RELOAD_SKILLS], "true"))
		agent_tree_reload_skills(&s->tree);
}

/* A text that a SessionStart hook wants answered before the prompt; on a terminal the user speaks first. */
static void keep_opening(struct cadre_session *s, struct str json)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (s->services->options.interactive || !json.n || json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return;
	struct str text = str_trim(json_str(root, &a));
	buf_add(&s->turn.opening, text.p, text.n);
}

static void on_hooks_over(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct turn *t = &s->turn;

	session_apply_hook_outcome(s, outcome);
	if (t->state == TURN_START)
		keep_opening(s, outcome->fields[HOOK_INITIAL_MESSAGE]);
	if (t->state == TURN_SUBMIT)
		t->suppressed = outcome->context_count && str_is(outcome->fields[HOOK_SUPPRESS_PROMPT], "true");
	t->hooks_over = true;
	t->hooks_stop = outcome->stop;
	t->hooks_block = outcome->blocked;
	t->interrupted = t->interrupted || (outcome->cancelled && turn_is_running(t));
	struct str reason = outcome->stop ? outcome->stop_reason : outcome->block_reason;
	buf_clear(&t->hook_reason);
	buf_add(&t->hook_reason, reason.p, reason.n);
	turn_work_over(s);
}

/* ---- what they are run for --------------------------------------------------------------------------------------- */

static bool has_hooks(const struct cadre_session *s, enum hook_event event, const char *subject)
{
	return agent_has_hooks(&s->tree.main, &(struct hook_fire_spec){ .event = event, .subject = str_from(subject) });
}

static bool run_hooks(struct cadre_session *s, enum hook_event event, const char *subject, struct json_out *fields)
{
	struct hook_fire_spec spec = { .event = event, .subject = str_from(subject) };

	json_close(fields);
	spec.fields = buf_str(fields->buf);
	s->turn.firing = agent_run_hooks(&s->tree.main, &spec, on_hooks_over, s);
	return true;
}

bool session_run_setup_hooks(struct cadre_session *s)
{
	const char *trigger = s->services->options.setup;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!trigger || s->turn.setup_hooks_ran)
		return false;
	s->turn.setup_hooks_ran = true;
	if (!has_hooks(s, HOOK_SETUP, trigger))
		return false;
	turn_announce(s);
	json_open(&w, '{');
	json_kcstr(&w, "trigger", trigger);
	return run_hooks(s, HOOK_SETUP, trigger, &w);
}

bool session_run_start_hooks(struct cadre_session *s)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);
	const char *source = s->tree.main.from.session_id ? "fork" : s->tree.main.load ? "resume" : "startup";

	if (s->start_source)
		source = s->start_source;
	if (s->turn.start_hooks_ran)
		return false;
	s->turn.start_hooks_ran = true;
	if (!has_hooks(s, HOOK_SESSION_START, source))
		return false;
	turn_announce(s);
	json_open(&w, '{');
	json_kcstr(&w, "source", source);
	json_kcstr(&w, "model", s->tree.main.model);
	return run_hooks(s, HOOK_SESSION_START, source, &w);
}

bool session_run_prompt_hooks(struct cadre_session *s)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!s->turn.prompt.n || !has_hooks(s, HOOK_USER_PROMPT_SUBMIT, ""))
		return false;
	turn_announce(s);
	json_open(&w, '{');
	json_kstr(&w, "prompt", buf_str(&s->turn.prompt));
	return run_hooks(s, HOOK_USER_PROMPT_SUBMIT, "", &w);
}

static void notify_failure_hooks(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;
	const char *error = failure_name(&q->failure);
	struct hook_fire_spec spec = { .event = HOOK_STOP_FAILURE, .subject = str_from(error) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!has_hooks(s, HOOK_STOP_FAILURE, error))
		return;
	json_open(&w, '{');
	json_kcstr(&w, "error", error);
	json_kcstr(&w, "error_details", q->failure.text);
	if (q->text.n)
		json_kstr(&w, "last_assistant_message", buf_str(&q->text));
	json_close(&w);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}

/* An interrupt is not a stop; hooks cannot change a failure. */
bool session_run_stop_hooks(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (q->end == QUERY_MODEL_ERROR)
		notify_failure_hooks(s);
	if (q->end != QUERY_DONE || s->turn.interrupted || !has_hooks(s, HOOK_STOP, ""))
		return false;
	json_open(&w, '{');
	json_kbool(&w, "stop_hook_active", s->turn.stop_blocks > 0);
	if (q->text.n)
		json_kstr(&w, "last_assistant_message", buf_str(&q->text));
	return run_hooks(s, HOOK_STOP, "", &w);
}

bool session_run_end_hooks(struct cadre_session *s)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	const char *reason = s->end_reason ? s->end_reason : "other";

	if (s->turn.end_hooks_ran || !s->turn.start_hooks_ran || !has_hooks(s, HOOK_SESSION_END, reason))
		return false;
	s->turn.end_hooks_ran = true;
	json_open(&w, '{');
	json_kcstr(&w, "reason", reason);
	return run_hooks(s, HOOK_SESSION_END, reason, &w);
}

/* ---- settings that have changed ---------------------------------------------------------------------------------- */

/* Hooks see each changed file, one after the other, and may reject the change; changes to managed settings cannot be rejected.
 * Sessions of a runtime share the settings: what one of them accepts holds for all. */
struct changed_file {
	struct changed_file *next;
	enum settings_layer layer;
	const char *path;
};

struct config_change {
	struct arena arena;
	struct policy *policy; /* owned: what the files say now */
	struct changed_file *files, **files_end;
	struct changed_file *at; /* that hooks look at */
	bool blocked, forced;    /* a hook rejects it; a managed file is among them */
	struct buf reason;
};

void session_drop_change(struct cadre_session *s)
{
	struct config_change *c = TAKE(s->turn.change);

	if (!c)
		return;
	if (c->policy)
		policy_release(c->policy);
	free(c->policy);
	buf_release(&c->reason);
	arena_release(&c->arena);
	free(c);
}

void app_use_env(struct services *sv)
{
	sv->server_env.envp = sv->policy.envp;
	for (struct cadre_session *s = sv->sessions; s; s = s->next) {
		s->tree.main.env.envp = sv->policy.envp;
		for (struct agent *a = s->tree.alive; a; a = a->next)
			a->env.envp = sv->policy.envp;
	}
}

void app_use_policy(struct services *sv, struct policy *changed)
{
	policy_adopt(sv, changed);
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		session_use_policy(s);
	app_use_env(sv);
}

static void decide_change(struct cadre_session *s)
{
	struct config_change *c = s->turn.change;
	AUTO_BUF struct buf text = { 0 };

	if (!c->blocked || c->forced) {
		app_use_policy(s->services, TAKE(c->policy));
		session_drop_change(s);
		return;
	}
	buf_addf(&text, "changed settings do not count: a ConfigChange hook refused them%s" STR_FMT,
		 c->reason.n ? ": " : "", STR_ARG(buf_str(&c->reason)));
	policy_decline(s->services, TAKE(c->policy));
	session_drop_change(s);
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

static bool show_next_change(struct cadre_session *s);

static void on_change_seen(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct config_change *c = s->turn.change;

	s->turn.firing = NULL;
	emit_hook_messages(&s->tree, NULL, outcome);
	if (outcome->blocked) {
		c->blocked = true;
		buf_addf(&c->reason, "%s" STR_FMT, c->reason.n ? "\n" : "", STR_ARG(outcome->block_reason));
	}
	c->at = c->at->next;
	s->turn.interrupted = s->turn.interrupted || outcome->cancelled;
	if (s->turn.interrupted)
		session_drop_change(s);
	else if (show_next_change(s))
		return;
	turn_work_over(s);
}

/* Runs the hooks for the next file that some are for. False: there is none, and the change was decided. */
static bool show_next_change(struct cadre_session *s)
{
	static const char *const sources[] = { [LAYER_USER] = "user_settings",
					       [LAYER_PROJECT] = "project_settings",
					       [LAYER_LOCAL] = "local_settings",
					       [LAYER_FLAG] = "user_settings",
					       [LAYER_MANAGED] = "policy_settings" };
	struct config_change *c = s->turn.change;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	while (c->at && !has_hooks(s, HOOK_CONFIG_CHANGE, sources[c->at->layer]))
		c->at = c->at->next;
	if (!c->at) {
		decide_change(s);
		return false;
	}
	struct hook_fire_spec spec = { .event = HOOK_CONFIG_CHANGE, .subject = str_from(sources[c->at->layer]) };
	json_open(&w, '{');
	json_kstr(&w, "source", spec.subject);
	json_kcstr(&w, "file_path", c->at->path);
	json_close(&w);
	spec.fields = buf_str(&fields);
	s->turn.firing = agent_run_hooks(&s->tree.main, &spec, on_change_seen, s);
	return true;
}

static void add_changed_file(void *data, enum settings_layer layer, const char *path)
{
	struct config_change *c = data;
	struct changed_file *f = arena_calloc(&c->arena, sizeof *f);

	f->layer = layer;
	f->path = arena_strdup(&c->arena, path);
	c->forced = c->forced || layer == LAYER_MANAGED;
	*c->files_end = f;
	c->files_end = &f->next;
}

bool session_look_at_settings(struct cadre_session *s)
{
	struct policy *changed;
	struct err err = { 0 };
	int status = policy_look(s->services, &changed, &err);

	if (status < 0)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
	if (status <= 0)
		return false;
	struct config_change *c = xcalloc(1, sizeof *c);
	c->policy = changed;
	c->files_end = &c->files;
	settings_each_change(s->services->policy.settings, changed->settings, add_changed_file, c);
	c->at = c->files;
	s->turn.change = c;
	return show_next_change(s);
}

/* Without a person to ask, servers of a project wait for trust or for an approval in the user's own settings. */
static void report_waiting_servers(struct cadre_session *s)
{
	const struct mcp_config *config = s->services->mcp_config;
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; config && i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->standing == MCP_UNAPPROVED)
			buf_addf(&text, "%s%s (%s:%u)",
				 text.n ? ", " : "this folder is not trusted, so these MCP servers do not run: ",
				 item->name, item->file, item->line);
	}
	if (!text.n)
		return;
	buf_addstr(&text, "; `cadre trust` records consent, --trust-project gives it for one run");
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

static void report_refused_agents(struct cadre_session *s)
{
	enum { MOST = 5 };
	const struct catalog *r = s->services->registry;
	AUTO_BUF struct buf text = { 0 };
	size_t refused = 0;

	for (size_t i = 0; i < r->failed_count; i++) {
		const struct catalog_failure *f = &r->failed[i];
		size_t n = strlen(f->path);
		if (n > 5 && !strcmp(f->path + n - 5, ".json"))
			continue; /* settings are told as such */
		if (refused++ >= MOST)
			continue;
		buf_clear(&text);
		buf_addstr(&text, f->path);
		if (f->line)
			buf_addf(&text, ":%u", f->line);
		buf_addf(&text, ": %s; this agent is refused (`cadre agents check`)", f->message);
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
	}
	if (refused <= MOST)
		return;
	buf_clear(&text);
	buf_addf(&text, "%zu more agent files are refused (`cadre agents check`)", refused - MOST);
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

void session_report_policy(struct cadre_session *s)
{
	const struct policy *p = &s->services->policy;

	struct str rest = str_trim(buf_str(&p->notes));
	while (s->policy_told != p->generation + 1 && rest.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_cut(&rest, '\n') });
	if (!s->policy_told)
		report_refused_agents(s);
	if (!s->policy_told && !s->services->options.interactive)
		report_waiting_servers(s);
	s->policy_told = p->generation + 1;
}
