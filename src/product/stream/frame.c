/* SPDX-License-Identifier: MIT
 * frame.c - an event as a line of stream-json, the form that the agent SDKs read. Children are reported as
 * system/task_*; hooks and compaction have their own frames. */
#include "agents/agent/servers.h"
#include "defs/agentdef/registry.h"
#include "product/stream/wire_int.h"
#include "product/session/server_pool.h"
#include "defs/policy/plugins.h"
#include "product/session/schema.h"
#include "product/session/styles.h"
#include "lib/json/json_write.h"
#include "core/model/catalog.h"
#include "defs/skill/registry.h"

typedef void frame_fn(struct json_out *w, const struct cadre_event *e);

static void put_system(struct json_out *w, const char *subtype)
{
	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", subtype);
}

/* parent_tool_use_id, and for a child also its identity. */
static void frame_put_agent(struct json_out *w, const struct event *event)
{
	const struct event_agent *a = event->agent;

	if (!a || !a->id[0]) {
		json_kcstr(w, "parent_tool_use_id", NULL);
		return;
	}
	json_kcstr(w, "parent_tool_use_id", a->tool_use_id);
	json_kcstr(w, "agent_id", a->id);
	json_kcstr(w, "subagent_type", a->type);
	json_kcstr(w, "task_description", a->description);
}

static const char *key_source(const struct services *sv)
{
	const struct provider_env *env = &sv->endpoints.places.usual->env;

	if (env->auth_token && (sv->options.auth_token || services_getenv(sv, NULL, ENV_OWN, env->auth_token)))
		return env->auth_token;
	return env->api_key && (sv->options.api_key || services_getenv(sv, NULL, ENV_OWN, env->api_key)) ? env->api_key
													 : "none";
}

/* Of those for the user, commands too. */
static void put_skill_names(struct json_out *w, const struct agent_tree *t, enum skill_view view)
{
	const struct catalog *r = t->skills.registry;

	for (size_t i = 0; r && i < r->active_count; i++)
		if ((skill_views(r->active[i], t->skills.overrides) & view) &&
		    (view == SKILL_FOR_USER || !r->active[i]->skill->is_command))
			json_put_cstr(w, r->active[i]->name);
}

static bool put_prompt(void *data, struct mcp_lease *link, const char *name, const struct mcp_prompt *prompt)
{
	(void)link;
	(void)prompt;
	json_put_cstr(data, name);
	return true;
}

/* Entries of --mcp-config that cannot be used; those of files are reported when they are read. */
static void put_server_errors(struct json_out *w, const struct mcp_config *config)
{
	bool open = false;

	for (size_t i = 0; config && i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->scope != MCP_SCOPE_FLAG || !item->error_type)
			continue;
		if (!open) {
			json_kopen(w, "mcp_server_errors", '[');
		}
		open = true;
		json_open(w, '{');
		json_kcstr(w, "name", item->name);
		json_kcstr(w, "type", item->error_type);
		json_kcstr(w, "message", item->reason);
		json_close(w);
	}
	if (open)
		json_close(w);
}

static void frame_init(struct json_out *w, const struct cadre_event *e)
{
	const struct cadre_session *s = e->session;
	const struct tool_set *tools = &s->tree.main.tools;
	const struct mcp_selection *set = s->tree.main.servers;
	put_system(w, "init");
	json_kcstr(w, "cwd", s->tree.main.cwd);
	json_kopen(w, "tools", '[');
	for (size_t i = 0; i < tools->count; i++) {
		const struct tool *tool = tools->tools[i];
		bool finds_nothing = (tool->flags & TOOL_FINDS_TOOLS) && !s->tree.main.deferral.known.count;
		if (finds_nothing || !agent_offers(&s->tree.main, tool))
			continue;
		/* readers know the Agent tool by its older name here */
		json_put_cstr(w, tool->start == s->tree.agent_tool.start ? "Task" : tool->name);
	}
	json_close(w);
	json_kopen(w, "mcp_servers", '[');
	for (size_t i = 0; set && i < mcp_selection_count(set); i++) {
		json_open(w, '{');
		json_kcstr(w, "name", mcp_lease_server(mcp_selection_at(set, i))->name);
		json_kcstr(w, "status", mcp_state_word(mcp_lease_state(mcp_selection_at(set, i))));
		json_close(w);
	}
	json_close(w);
	json_kcstr(w, "model", s->tree.main.model);
	json_kcstr(w, "permissionMode", permission_mode_name(permission_mode(&s->tree.main.permission)));
	json_kopen(w, "slash_commands", '[');
	for (size_t i = 0; session_builtin(s, i); i++)
		json_put_cstr(w, session_builtin(s, i)->name);
	put_skill_names(w, &s->tree, SKILL_FOR_USER);
	if (s->tree.skills.registry)
		server_prompts_each(s, put_prompt, w);
	json_close(w);
	json_kcstr(w, "apiKeySource", key_source(s->services));
	json_kcstr(w, "claude_code_version", CADRE_PROTOCOL_VERSION);
	json_kcstr(w, "output_style", s->style_name);
	const struct catalog *r = s->tree.services->registry;
	json_kopen(w, "agents", '[');
	for (size_t i = 0; i < r->active_count; i++)
		if (servers_admit(&s->tree, r->active[i]->definition))
			json_put_cstr(w, r->active[i]->definition->name);
	json_close(w);
	json_kopen(w, "skills", '[');
	put_skill_names(w, &s->tree, SKILL_FOR_MODEL);
	json_close(w);
	app_put_plugins(w, s->services->plugins);
	put_server_errors(w, s->services->mcp_config);
}

static void frame_answer(struct json_out *w, const struct cadre_event *e)
{
	const struct event *ev = e->event;

	json_kcstr(w, "type", "assistant");
	json_kopen(w, "message", '{');
	json_kcstr(w, "id", ev->message_id);
	json_kcstr(w, "type", "message");
	json_kcstr(w, "role", "assistant");
	json_kcstr(w, "model", ev->model);
	json_kopen(w, "content", '[');
	json_put_raw(w, segment_json(ev->block));
	json_close(w);
	json_kcstr(w, "stop_reason", NULL);
	json_kcstr(w, "stop_sequence", NULL);
	json_key(w, "usage");
	usage_write(w, ev->usage);
	json_close(w);
	frame_put_agent(w, e->event);
	if (ev->request_id && ev->request_id[0])
		json_kcstr(w, "request_id", ev->request_id);
	if (ev->supersedes) {
		json_kopen(w, "supersedes", '[');
		for (size_t i = 0; ev->supersedes[i]; i++)
			json_put_cstr(w, ev->supersedes[i]);
		json_close(w);
	}
}

static void frame_result_message(struct json_out *w, const struct cadre_event *e)
{
	json_kcstr(w, "type", "user");
	json_kopen(w, "message", '{');
	json_kcstr(w, "role", "user");
	json_kopen(w, "content", '[');
	json_put_raw(w, segment_json(e->event->block));
	json_close(w);
	json_close(w);
	frame_put_agent(w, e->event);
	if (e->event->tool_use_result.n)
		json_kraw(w, "tool_use_result", e->event->tool_use_result);
}

static void frame_delta(struct json_out *w, const struct cadre_event *e)
{
	json_kcstr(w, "type", "stream_event");
	json_kraw(w, "event", e->event->raw);
	frame_put_agent(w, e->event);
}

static void frame_retry(struct json_out *w, const struct cadre_event *e)
{
	const struct event *ev = e->event;

	put_system(w, "api_retry");
	json_ki64(w, "attempt", ev->attempt);
	json_ki64(w, "max_retries", ev->most_attempts);
	json_ki64(w, "retry_delay_ms", ev->delay_ms);
	json_key(w, "error_status");
	if (ev->status)
		json_put_i64(w, ev->status);
	else
		json_put_null(w);
	json_kcstr(w, "error", ev->error);
	json_kcstr_if(w, "model", ev->model);
	json_kstr(w, "message", ev->text);
}

static void frame_denied(struct json_out *w, const struct cadre_event *e)
{
	put_system(w, "permission_denied");
	json_kcstr(w, "tool_name", e->event->name);
	json_kcstr(w, "tool_use_id", e->event->id);
	if (e->event->agent && e->event->agent->id[0])
		json_kcstr(w, "agent_id", e->event->agent->id);
	json_kstr(w, "message", e->event->text);
}

void session_put_model_usage(struct json_out *w, const struct cadre_session *s)
{
	const struct agent_tree *t = &s->tree;

	json_open(w, '{');
	for (size_t i = 0; i < t->spending_count; i++) {
		const char *model = t->spending[i].model;
		struct model_info m = model_find(&t->services->endpoints.places, model);
		const struct usage *u = &t->spending[i].usage;
		json_kopen(w, model, '{');
		json_ki64(w, "inputTokens", u->input);
		json_ki64(w, "outputTokens", u->output);
		json_ki64(w, "cacheReadInputTokens", u->cache_read);
		json_ki64(w, "cacheCreationInputTokens", u->cache_write);
		json_ki64(w, "webSearchRequests", u->web_searches);
		json_key(w, "costUSD");
		json_put_double(w, t->spending[i].usd);
		if (!m.price_source)
			json_kbool(w, "unknownPrice", true);
		json_ki64(w, "contextWindow", m.context);
		if (!m.window_source)
			json_kbool(w, "assumedWindow", true);
		json_ki64(w, "maxOutputTokens", m.max_output);
		json_close(w);
	}
	json_close(w);
}

static const char *const terminal_reasons[] = {
	[QUERY_DONE] = "completed",
	[QUERY_MAX_TURNS] = "max_turns",
	[QUERY_MODEL_ERROR] = "api_error",
	[QUERY_REFUSED] = "model_error",
	[QUERY_EMPTY] = "model_error",
	[QUERY_CUT_OFF] = "model_error",
	[QUERY_CONTEXT_FULL] = "prompt_too_long",
	[QUERY_CANCELLED] = "aborted_streaming",
	[QUERY_HALTED] = "hook_stopped",
	[QUERY_BLOCKED] = "hook_stopped",
	[QUERY_REJECTED] = "turn_setup_failed",
	[QUERY_BUDGET] = "budget_exhausted",
	[QUERY_DISK_ERROR] = "turn_setup_failed",
	[QUERY_UNSTRUCTURED] = "structured_output_retry_exhausted",
};

static void frame_subagent_stats(struct json_out *w, const struct agent_tree *t)
{
	unsigned counts[END_STATE_COUNT] = { 0 };
	unsigned tool_uses = 0;

	if (!t->record_count)
		return;
	for (const struct agent_record *record = t->records; record; record = record->next) {
		counts[record->state]++;
		tool_uses += record->tool_uses;
	}
	json_kopen(w, "subagent_stats", '{');
	json_ki64(w, "total", t->record_count);
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		if (counts[i])
			json_ki64(w, end_state_info((enum end_state)i)->state, counts[i]);
	json_ki64(w, "tool_uses", tool_uses);
	json_close(w);
}

static void frame_turn(struct json_out *w, const struct cadre_event *e)
{
	const struct cadre_session *s = e->session;
	const struct agent_tree *t = &s->tree;
	const struct query *q = &t->main.query;
	bool has_result = !strcmp(turn_subtype(s), "success");

	json_kcstr(w, "type", "result");
	json_kcstr(w, "subtype", turn_subtype(s));
	json_kbool(w, "is_error", e->event->is_error);
	if (q->end == QUERY_MODEL_ERROR && q->failure.status)
		json_ki64(w, "api_error_status", q->failure.status);
	json_ki64(w, "duration_ms", (int64_t)(loop_now_ms(s->services->loop) - q->started_ms));
	json_ki64(w, "duration_api_ms", (int64_t)q->api_ms);
	json_ki64(w, "num_turns", q->turn);
	if (has_result) {
		json_kstr(w, "result", e->event->text);
	} else {
		json_kopen(w, "errors", '[');
		json_put_str(w, e->event->text);
		json_close(w);
	}
	if (has_result && schema_output(s).n)
		json_kraw(w, "structured_output", schema_output(s));
	json_kcstr(w, "stop_reason", q->stop_reason[0] ? q->stop_reason : NULL);
	json_kcstr(w, "terminal_reason", terminal_reasons[q->end]);
	json_key(w, "total_cost_usd");
	json_put_double(w, agent_tree_cost(&s->tree));
	json_key(w, "usage");
	usage_write(w, &q->usage);
	json_key(w, "modelUsage");
	session_put_model_usage(w, s);
	json_kopen(w, "permission_denials", '[');
	for (size_t i = 0; i < t->denial_count; i++) {
		json_open(w, '{');
		json_kcstr(w, "tool_name", t->denials[i].tool);
		json_kcstr(w, "tool_use_id", t->denials[i].id);
		if (t->denials[i].agent[0])
			json_kcstr(w, "agent_id", t->denials[i].agent);
		json_kraw(w, "tool_input", buf_str(&t->denials[i].input));
		json_close(w);
	}
	json_close(w);
	json_ki64(w, "result_index", s->results - 1);
	if (s->queued)
		json_ki64(w, "queued_turn_count", *s->queued);
	if (s->turn.origin == TURN_BY_NOTICE)
		json_kraw(w, "origin", STR("{\"kind\":\"task-notification\",\"producer\":\"session-task\"}"));
	else if (s->prompt_origin && s->prompt_origin->n)
		json_kraw(w, "origin", buf_str(s->prompt_origin));
	frame_subagent_stats(w, &s->tree);
}

static void frame_informational(struct json_out *w, const struct cadre_event *e)
{
	put_system(w, "informational");
	json_kcstr(w, "level", "warning");
	json_kstr(w, "content", e->event->text);
}

/* ---- frames about children --------------------------------------------------------------------------------------- */

static void task_frame_begin(struct json_out *w, const char *subtype, const struct event *event)
{
	put_system(w, subtype);
	json_kcstr(w, "task_id", event->agent->id);
	json_kcstr(w, "run_id", event->task->run_id);
	json_kcstr(w, "tool_use_id", event->agent->tool_use_id);
}

static void put_usage(struct json_out *w, const struct event_task *t)
{
	const struct usage *u = &t->usage;

	json_kopen(w, "usage", '{');
	json_ki64(w, "total_tokens", u->input + u->cache_read + u->cache_write + u->output);
	json_ki64(w, "tool_uses", t->tool_uses);
	json_ki64(w, "duration_ms", (int64_t)t->duration_ms);
	json_close(w);
}

static void frame_task_started(struct json_out *w, const struct cadre_event *e)
{
	const struct event_agent *a = e->event->agent;
	const struct event_task *t = e->event->task;

	task_frame_begin(w, "task_started", e->event);
	json_kcstr(w, "description", a->description);
	json_kcstr(w, "subagent_type", a->type);
	json_kcstr_if(w, "name", a->name);
	json_kbool(w, "is_backgrounded", t->background);
	json_ki64(w, "spawn_depth", a->depth);
	json_kcstr(w, "parent_agent_id", a->parent_id[0] ? a->parent_id : NULL);
	json_kcstr(w, "task_type", t->team ? "in_process_teammate" : "local_agent");
	json_kcstr_if(w, "team_name", t->team);
	json_kcstr_if(w, "model", t->model);
	json_kcstr_if(w, "worktree_path", t->worktree);
	json_kcstr(w, "prompt", t->prompt);
}

static void frame_task_progress(struct json_out *w, const struct cadre_event *e)
{
	task_frame_begin(w, "task_progress", e->event);
	json_kcstr(w, "description", e->event->agent->description);
	put_usage(w, e->event->task);
	json_kcstr_if(w, "last_tool_name", e->event->task->last_tool);
}

/* SDKs know three ends. */
static const char *status_of(const struct event_task *t)
{
	enum end_state state = AGENT_RUNNING;

	(void)end_state_parse(str_from(t->state), &state);
	const char *status = end_state_info(state)->status;
	return !strcmp(status, "killed") ? "stopped" : status;
}

static void frame_task_updated(struct json_out *w, const struct cadre_event *e)
{
	task_frame_begin(w, "task_updated", e->event);
	json_kopen(w, "patch", '{');
	json_kcstr(w, "status", status_of(e->event->task));
	json_kcstr(w, "end_state", e->event->task->state);
	json_ki64(w, "end_time", e->time_ms);
	json_close(w);
}

/* A member that works again, or waits */
static void frame_member_state(struct json_out *w, const struct cadre_event *e)
{
	task_frame_begin(w, "task_updated", e->event);
	json_key(w, "patch");
	json_open(w, '{');
	json_kcstr(w, "status", e->event->task->member);
	json_close(w);
}

static void frame_task_notification(struct json_out *w, const struct cadre_event *e)
{
	const struct event_task *t = e->event->task;

	task_frame_begin(w, "task_notification", e->event);
	json_kcstr(w, "status", status_of(t));
	json_kcstr(w, "output_file", t->output_file ? t->output_file : "");
	json_kstr(w, "summary", e->event->text);
	put_usage(w, t);
	json_kcstr_if(w, "verdict", t->verdict);
	json_kcstr_if(w, "worktree_path", t->worktree);
	json_kcstr_if(w, "worktree_branch", t->worktree ? t->branch : NULL);
}

static void frame_tasks_changed(struct json_out *w, const struct cadre_event *e)
{
	put_system(w, "background_tasks_changed");
	json_kopen(w, "tasks", '[');
	for (const struct agent *s = e->session->tree.alive; s; s = s->next) {
		if (!s->record->background)
			continue;
		json_open(w, '{');
		json_kcstr(w, "task_id", s->record->id);
		json_kcstr(w, "task_type", s->record->member ? "in_process_teammate" : "local_agent");
		json_kcstr(w, "description", s->record->description);
		if (s->record->member)
			json_kcstr(w, "status", member_state_name(s->record->member->state));
		json_close(w);
	}
	json_close(w);
}

/* ---- frames about hooks ------------------------------------------------------------------------------------------ */

static void frame_hook_begin(struct json_out *w, const char *subtype, const struct event *e)
{
	put_system(w, subtype);
	json_kcstr(w, "hook_id", e->id);
	json_kstr(w, "hook_name", e->text);
	json_kcstr(w, "hook_event", e->hook->event);
	frame_put_agent(w, e);
}

static void frame_hook_started(struct json_out *w, const struct cadre_event *e)
{
	frame_hook_begin(w, "hook_started", e->event);
}

/* Readers show `output`, so an error without hook output goes there. */
static void frame_hook_response(struct json_out *w, const struct cadre_event *e)
{
	const struct event_hook *h = e->event->hook;

	frame_hook_begin(w, "hook_response", e->event);
	json_kstr(w, "output", h->out.n ? h->out : h->err.n ? h->err : h->note);
	json_kstr(w, "stdout", h->out);
	json_kstr(w, "stderr", h->err);
	if (h->exited)
		json_ki64(w, "exit_code", h->exit_code);
	json_kcstr(w, "outcome", h->outcome);
}

/* ---- frames about compaction ------------------------------------------------------------------------------------- */

static void frame_status(struct json_out *w, const struct cadre_event *e)
{
	const char *result = e->event->compact->result;

	put_system(w, "status");
	json_kcstr(w, "status", result ? NULL : "compacting");
	json_kcstr_if(w, "compact_result", result);
	if (e->event->text.n)
		json_kstr(w, "compact_error", e->event->text);
}

static void frame_compact_boundary(struct json_out *w, const struct cadre_event *e)
{
	const struct event_compact *c = e->event->compact;

	put_system(w, "compact_boundary");
	json_kopen(w, "compact_metadata", '{');
	json_kcstr(w, "trigger", c->trigger);
	json_ki64(w, "pre_tokens", c->tokens_before);
	json_ki64(w, "post_tokens", c->tokens_after);
	json_ki64(w, "duration_ms", (int64_t)c->duration_ms);
	json_close(w);
}

/* ---- the writer of an event ------------------------------------------------------------------------------------- */

/* A child's texts and thoughts are its own unless the host asked for them. */
static bool frame_is_held_back(const struct cadre_event *e)
{
	const struct event *ev = e->event;

	if (!ev->agent || !ev->agent->id[0] || e->session->tree.switches.forward_text)
		return false;
	if (ev->kind == EVENT_DELTA)
		return true;
	return ev->kind == EVENT_MESSAGE && ev->from_model && ev->block->kind != SEGMENT_TOOL_USE;
}

void frame_write(struct cadre_event *e)
{
	static frame_fn *const writers[] = {
		[EVENT_SESSION_STARTED] = frame_init,
		[EVENT_PERMISSION_DENIED] = frame_denied,
		[EVENT_RETRY] = frame_retry,
		[EVENT_ERROR] = frame_informational,
		[EVENT_TURN_ENDED] = frame_turn,
		[EVENT_AGENT_STARTED] = frame_task_started,
		[EVENT_AGENT_PROGRESS] = frame_task_progress,
		[EVENT_AGENT_ENDED] = frame_task_updated,
		[EVENT_TASKS_CHANGED] = frame_tasks_changed,
		[EVENT_HOOK_STARTED] = frame_hook_started,
		[EVENT_HOOK_ENDED] = frame_hook_response,
		[EVENT_COMPACTING] = frame_status,
		[EVENT_COMPACTED] = frame_compact_boundary,
		[EVENT_MEMBER_STATE] = frame_member_state,
	};
	enum event_kind kind = e->event->kind;
	frame_fn *writer = kind < COUNT_OF(writers) ? writers[kind] : NULL;

	if (kind == EVENT_NOTIFICATION && e->event->task)
		writer = frame_task_notification;
	if (kind == EVENT_MESSAGE)
		writer = e->event->from_model ? frame_answer : frame_result_message;
	if (frame_is_held_back(e) || /* compactions of children are not shown */
	    (e->event->compact && cadre_event_agent(e)[0]))
		writer = NULL;
	if (kind == EVENT_DELTA && e->event->raw.n)
		writer = frame_delta;
	if (!writer)
		return;
	struct json_out w = json_out(&e->frame);
	json_open(&w, '{');
	writer(&w, e);
	json_kcstr(&w, "session_id", e->session->id);
	json_kcstr(&w, "uuid", e->uuid);
	json_close(&w);
}
