/* SPDX-License-Identifier: MIT
 * frame.c - an event as a line of stream-json, the form that the agent SDKs read. Children are reported as
 * system/task_*; hooks and compaction have their own frames. */
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"
#include "product/stream/wire_int.h"
#include "product/session/server_pool.h"
#include "defs/policy/plugins.h"
#include "product/session/session.h"
#include "lib/json/json_write.h"
#include "core/model/catalog.h"
#include "defs/skill/registry.h"

/* parent_tool_use_id, and for a child also its identity. */
static void frame_put_agent(struct json_out *w, const struct event *event)
{
	const struct event_agent *a = event->agent;

	if (!a || !a->id[0]) {
		json_kcstr(w, "parent_tool_use_id", NULL);
		return;
	}
	json_putf(w, "parent_tool_use_id:'%s', agent_id:'%s', subagent_type:'%s', task_description:'%s'",
		  a->tool_use_id, a->id, a->type, a->description);
	json_putf(w, "teammate_name?:'%s'", a->team ? a->name : NULL);
}

/* Of those for the user, commands too. */
static void put_skill_names(struct json_out *w, const struct agent_tree *t, enum skill_view view)
{
	const struct catalog *r = t->skills.registry;

	for (size_t i = 0; r && i < r->active_count; i++)
		if ((agent_skill_views(&t->main, r->active[i]) & view) &&
		    (view == SKILL_FOR_USER || !r->active[i]->skill->is_command))
			json_put_cstr(w, r->active[i]->name);
}

static bool put_prompt(void *data, struct mcp_lease *link, const char *name, const struct mcp_prompt *prompt)
{
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
		if (!open)
			json_kopen(w, "mcp_server_errors", '[');
		open = true;
		json_putf(w, "{name:'%s', type:'%s', message:'%s'}", item->name, item->error_type, item->reason);
	}
	if (open)
		json_close(w);
}

static void frame_init(struct json_out *w, const struct cadre_event *e)
{
	const struct cadre_session *s = e->session;
	const struct tool_set *tools = &s->tree.main.tools;
	const struct mcp_selection *set = s->tree.main.servers;
	const struct provider_env *env = &s->services->endpoints.providers.usual->env;
	const char *key_source = "none";
	AUTO_ARENA struct arena a = { 0 };
	const char *sandbox = agent_tree_sandbox_word((struct agent_tree *)&s->tree);

	if (env->auth_token &&
	    (s->services->options.auth_token || services_getenv(s->services, NULL, ENV_OWN, env->auth_token)))
		key_source = env->auth_token;
	else if (env->api_key &&
		 (s->services->options.api_key || services_getenv(s->services, NULL, ENV_OWN, env->api_key)))
		key_source = env->api_key;
	json_putf(w, "type:'system', subtype:'init', cwd:'%s', tools:[", s->tree.main.cwd);
	for (size_t i = 0; i < tools->count; i++) {
		const struct tool *tool = tools->tools[i];
		bool finds_nothing = (tool->flags & TOOL_FINDS_TOOLS) && !s->tree.main.deferral.known.count;
		if (finds_nothing || !agent_offers(&s->tree.main, tool))
			continue;
		/* readers know the Agent tool by its older name here */
		json_put_cstr(w, tool->start == s->tree.agent_tool.start ? "Task" : tool->name);
	}
	json_putf(w, "], mcp_servers:[");
	for (size_t i = 0; set && i < set->count; i++)
		json_putf(w, "{name:'%s', status:'%s'}", set->leases[i]->server->name,
			  mcp_state_word(mcp_lease_state(set->leases[i])));
	json_putf(w, "], model:'%s', permissionMode:'%s', slash_commands:[", s->tree.main.model,
		  permission_mode_name(permission_mode(&s->tree.main.permission)));
	for (size_t i = 0; session_builtin(s, i); i++)
		json_put_cstr(w, session_builtin(s, i)->name);
	put_skill_names(w, &s->tree, SKILL_FOR_USER);
	if (s->tree.skills.registry)
		server_prompts_each(s, put_prompt, w);
	json_putf(w, "], apiKeySource:'%s', claude_code_version:'%s', output_style:'%s', agents:[", key_source,
		  CADRE_PROTOCOL_VERSION, s->style_name);
	const struct catalog *r = s->tree.services->registry;
	for (size_t i = 0; i < r->active_count; i++)
		if (servers_admit(&s->tree, r->active[i]->definition))
			json_put_cstr(w, r->active[i]->definition->name);
	json_putf(w, "], skills:[");
	put_skill_names(w, &s->tree, SKILL_FOR_MODEL);
	json_close(w);
	plugin_list_put(w, s->services->plugins);
	put_server_errors(w, s->tree.policy->mcp_config);
	json_putf(w, "sandbox?:'%s', effort:'%s', capabilities:['interrupt_receipt_v1', 'interrupt_cancel_queued_v1']",
		  sandbox, agent_effort(&s->tree.main, &a));
}

static void frame_answer(struct json_out *w, const struct cadre_event *e)
{
	const struct event *ev = e->event;

	json_putf(w, "type:'assistant', message:{id:'%s', type:'message', role:'assistant', model:'%s', content:[",
		  ev->message_id, ev->model);
	json_put_raw(w, segment_json(ev->block));
	json_putf(w, "], stop_reason:null, stop_sequence:null, usage:");
	usage_write(w, ev->usage);
	json_close(w);
	frame_put_agent(w, e->event);
	json_putf(w, "request_id?:'%s'", ev->request_id && ev->request_id[0] ? ev->request_id : NULL);
	if (ev->supersedes) {
		json_kopen(w, "supersedes", '[');
		for (size_t i = 0; ev->supersedes[i]; i++)
			json_put_cstr(w, ev->supersedes[i]);
		json_close(w);
	}
}

void session_put_model_usage(struct json_out *w, const struct cadre_session *s)
{
	const struct agent_tree *t = &s->tree;

	json_open(w, '{');
	for (size_t i = 0; i < t->spending_count; i++) {
		const char *model = t->spending[i].model;
		struct model_info m = model_find(&t->services->endpoints.providers, model);
		const struct usage *u = &t->spending[i].usage;
		json_kopen(w, model, '{');
		json_putf(w, "inputTokens:%lld, outputTokens:%lld, cacheReadInputTokens:%lld", (long long)u->input,
			  (long long)u->output, (long long)u->cache_read);
		json_putf(w, "cacheCreationInputTokens:%lld, webSearchRequests:%lld, costUSD:%g",
			  (long long)u->cache_write, (long long)u->web_searches, t->spending[i].usd);
		json_putf(
			w,
			"unknownPrice?:!!%d, reportedCost?:!!%d, contextWindow:%lld, assumedWindow?:!!%d, maxOutputTokens:%lld}",
			!m.price_source && u->cost_usd <= 0, u->cost_usd > 0, (long long)m.context, !m.window_source,
			(long long)m.max_output);
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
	json_putf(w, "subagent_stats:{total:%u", t->record_count);
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		if (counts[i])
			json_ki64(w, end_states[(enum end_state)i].state, counts[i]);
	json_putf(w, "tool_uses:%u}", tool_uses);
}

static void frame_turn(struct json_out *w, const struct cadre_event *e)
{
	const struct cadre_session *s = e->session;
	const struct agent_tree *t = &s->tree;
	const struct query *q = &t->main.query;
	bool has_result = !strcmp(turn_subtype(s), "success");

	json_putf(w, "type:'result', subtype:'%s', is_error:!!%d, api_error_status?:%d", turn_subtype(s),
		  e->event->is_error, q->end == QUERY_MODEL_ERROR ? (int)q->failure.status : 0);
	json_putf(w, "duration_ms:%llu, duration_api_ms:%llu, num_turns:%u",
		  (unsigned long long)(loop_now_ms(s->services->loop) - q->started_ms), (unsigned long long)q->api_ms,
		  q->turn);
	json_putf(w, has_result ? "result:'%.*s'" : "errors:['%.*s']", STR_ARG(e->event->text));
	json_putf(w, "structured_output?:%.*s", STR_ARG(has_result ? schema_output(s) : STR("")));
	json_putf(w, "stop_reason:'%s', terminal_reason:'%s', total_cost_usd:%g, usage:",
		  q->stop_reason[0] ? q->stop_reason : NULL, terminal_reasons[q->end], agent_tree_cost(&s->tree));
	usage_write(w, &q->usage);
	json_key(w, "modelUsage");
	session_put_model_usage(w, s);
	json_kopen(w, "permission_denials", '[');
	for (size_t i = 0; i < t->denial_count; i++)
		json_putf(w, "{tool_name:'%s', tool_use_id:'%s', agent_id?:'%s', tool_input:%.*s}", t->denials[i].tool,
			  t->denials[i].id, t->denials[i].agent[0] ? t->denials[i].agent : NULL,
			  STR_ARG(t->denials[i].input));
	json_putf(w, "], result_index:%u", s->results - 1);
	if (s->queued)
		json_ki64(w, "queued_turn_count", *s->queued);
	if (s->turn.origin == TURN_BY_NOTICE && q->mail_ids.n) {
		json_putf(w, "origin:{kind:'teammate', ids:[");
		for (const char *id = q->mail_ids.p; id < q->mail_ids.p + q->mail_ids.n; id += strlen(id) + 1)
			json_put_cstr(w, id);
		json_putf(w, "]}");
	} else if (s->turn.origin == TURN_BY_NOTICE)
		json_putf(w, "origin:{kind:'task-notification', producer:'session-task'}");
	else if (s->prompt_origin && s->prompt_origin->n)
		json_kraw(w, "origin", buf_str(s->prompt_origin));
	frame_subagent_stats(w, &s->tree);
}

static void frame_task(struct json_out *w, const struct cadre_event *e)
{
	const struct event_agent *a = e->event->agent;
	const struct event_task *t = e->event->task;
	const struct usage *u = &t->usage;
	enum event_kind kind = e->event->kind;
	enum end_state state = AGENT_RUNNING;

	(void)end_state_parse(str_from(t->state), &state);
	const char *status = end_states[state].status;
	if (!strcmp(status, "killed"))
		status = "stopped"; /* SDKs know three ends. */
	json_putf(w, "type:'system', subtype:'%s', task_id:'%s', run_id:'%s', tool_use_id:'%s'",
		  kind == EVENT_AGENT_STARTED    ? "task_started"
		  : kind == EVENT_AGENT_PROGRESS ? "task_progress"
		  : kind == EVENT_NOTIFICATION   ? "task_notification"
						 : "task_updated",
		  a->id, t->run_id, a->tool_use_id);
	if (kind == EVENT_AGENT_STARTED) {
		json_putf(w, "description:'%s', subagent_type:'%s', name?:'%s', is_backgrounded:!!%d, spawn_depth:%u",
			  a->description, a->type, a->name, t->background, a->depth);
		const char *parent = a->parent_id[0] ? a->parent_id : NULL;
		json_putf(w, "parent_agent_id:'%s', parent_task_id?:'%s', task_type:'%s', team_name?:'%s'", parent,
			  parent, t->team ? "in_process_teammate" : "local_agent", t->team);
		json_putf(w, "model?:'%s', worktree_path?:'%s', prompt:'%s'", t->model, t->worktree, t->prompt);
	} else if (kind == EVENT_AGENT_ENDED) {
		json_putf(w, "patch:{status:'%s', end_state:'%s', end_time:%lld}", status, t->state,
			  (long long)e->time_ms);
	} else if (kind == EVENT_MEMBER_STATE) { /* it works again, or waits */
		json_putf(w, "patch:{status:'%s'}", t->member);
	} else {
		if (kind == EVENT_AGENT_PROGRESS)
			json_kcstr(w, "description", a->description);
		else
			json_putf(w, "status:'%s', output_file:'%s', summary:'%.*s'", status,
				  t->output_file ? t->output_file : "", STR_ARG(e->event->text));
		json_putf(w, "usage:{total_tokens:%lld, tool_uses:%u, duration_ms:%llu}",
			  (long long)(u->input + u->cache_read + u->cache_write + u->output), t->tool_uses,
			  (unsigned long long)t->duration_ms);
		if (kind == EVENT_AGENT_PROGRESS)
			json_putf(w, "last_tool_name?:'%s'", t->last_tool);
		else
			json_putf(w, "verdict?:'%s', worktree_path?:'%s', worktree_branch?:'%s'", t->verdict,
				  t->worktree, t->worktree ? t->branch : NULL);
	}
}

static void frame_tasks_changed(struct json_out *w, const struct agent_tree *t)
{
	json_putf(w, "type:'system', subtype:'background_tasks_changed', tasks:[");
	for (const struct agent_record *r = t->records; r; r = r->next) {
		bool there = r->live || (r->member && r->member->state != MEMBER_GONE); /* parked, or in a pane */
		if (there && r->background)
			json_putf(w, "{task_id:'%s', task_type:'%s', description:'%s', status?:'%s'}", r->id,
				  r->member ? "in_process_teammate" : "local_agent", r->description,
				  r->member ? member_state_name(r->member->state) : NULL);
	}
	json_close(w);
}

/* Readers show `output`, so an error without hook output goes there. */
static void frame_hook(struct json_out *w, const struct event *ev)
{
	const struct event_hook *h = ev->hook;

	json_putf(w, "type:'system', subtype:'%s', hook_id:'%s', hook_name:'%.*s', hook_event:'%s'",
		  ev->kind == EVENT_HOOK_STARTED ? "hook_started" : "hook_response", ev->id, STR_ARG(ev->text),
		  h->event);
	frame_put_agent(w, ev);
	if (ev->kind == EVENT_HOOK_STARTED)
		return;
	json_kstr(w, "output", h->out.n ? h->out : h->err.n ? h->err : h->note);
	json_putf(w, "stdout:'%.*s', stderr:'%.*s'", STR_ARG(h->out), STR_ARG(h->err));
	if (h->exited)
		json_ki64(w, "exit_code", h->exit_code);
	json_kcstr(w, "outcome", h->outcome);
}

static void frame_body(struct json_out *w, const struct cadre_event *e)
{
	const struct event *ev = e->event;
	const struct event_compact *c = ev->compact;

	switch (ev->kind) {
	case EVENT_SESSION_STARTED:
		frame_init(w, e);
		break;
	case EVENT_TURN_ENDED:
		frame_turn(w, e);
		break;
	case EVENT_MESSAGE:
		if (ev->from_model) {
			frame_answer(w, e);
			break;
		}
		json_putf(w, "type:'user', message:{role:'user', content:[");
		json_put_raw(w, segment_json(ev->block));
		json_putf(w, "]}");
		frame_put_agent(w, ev);
		json_putf(w, "tool_use_result?:%.*s", STR_ARG(ev->tool_use_result));
		break;
	case EVENT_DELTA:
		json_putf(w, "type:'stream_event', event:%.*s", STR_ARG(ev->raw));
		frame_put_agent(w, ev);
		break;
	case EVENT_PERMISSION_DENIED:
		json_putf(w, "type:'system', subtype:'permission_denied', tool_name:'%s', tool_use_id:'%s'", ev->name,
			  ev->id);
		json_putf(w, "agent_id?:'%s', message:'%.*s'", ev->agent && ev->agent->id[0] ? ev->agent->id : NULL,
			  STR_ARG(ev->text));
		break;
	case EVENT_SANDBOX_VIOLATION:
		json_putf(w, "type:'system', subtype:'sandbox_violation', tool_use_id:'%s', agent_id?:'%s'", ev->id,
			  ev->agent && ev->agent->id[0] ? ev->agent->id : NULL);
		json_putf(w, "kind:'%s', what:'%.*s', rule:'%.*s'", ev->name, STR_ARG(ev->text), STR_ARG(ev->why));
		break;
	case EVENT_RETRY:
		json_putf(w, "type:'system', subtype:'api_retry', attempt:%u, max_retries:%u, retry_delay_ms:%lld",
			  ev->attempt, ev->most_attempts, (long long)ev->delay_ms);
		json_putf(w, "error_status:?%d, error:'%s', model?:'%s', message:'%.*s'", (int)ev->status, ev->error,
			  ev->model, STR_ARG(ev->text));
		break;
	case EVENT_ERROR:
		json_putf(w, "type:'system', subtype:'informational', level:'warning', content:'%.*s'",
			  STR_ARG(ev->text));
		break;
	case EVENT_TASKS_CHANGED:
		frame_tasks_changed(w, &e->session->tree);
		break;
	case EVENT_HOOK_STARTED:
	case EVENT_HOOK_ENDED:
		frame_hook(w, ev);
		break;
	case EVENT_COMPACTING:
		json_putf(w,
			  "type:'system', subtype:'status', status:'%s', compact_result?:'%s', compact_error?:'%.*s'",
			  c->result ? NULL : "compacting", c->result, STR_ARG(ev->text));
		break;
	case EVENT_COMPACTED:
		json_putf(w, "type:'system', subtype:'compact_boundary', compact_metadata:{trigger:'%s'", c->trigger);
		json_putf(w, "pre_tokens:%lld, post_tokens:%lld, duration_ms:%llu}", (long long)c->tokens_before,
			  (long long)c->tokens_after, (unsigned long long)c->duration_ms);
		break;
	default:
		frame_task(w, e);
	}
}

void frame_write(struct cadre_event *e)
{
	static const bool framed[] = {
		[EVENT_SESSION_STARTED] = true, [EVENT_MESSAGE] = true,        [EVENT_PERMISSION_DENIED] = true,
		[EVENT_RETRY] = true,           [EVENT_ERROR] = true,          [EVENT_TURN_ENDED] = true,
		[EVENT_AGENT_STARTED] = true,   [EVENT_AGENT_PROGRESS] = true, [EVENT_AGENT_ENDED] = true,
		[EVENT_TASKS_CHANGED] = true,   [EVENT_HOOK_STARTED] = true,   [EVENT_HOOK_ENDED] = true,
		[EVENT_COMPACTING] = true,      [EVENT_COMPACTED] = true,      [EVENT_MEMBER_STATE] = true,
	};
	const struct event *ev = e->event;
	bool of_child = cadre_event_agent(e)[0] != '\0';
	bool wanted = (ev->kind < COUNT_OF(framed) && framed[ev->kind]) || ev->kind == EVENT_SANDBOX_VIOLATION ||
		      (ev->kind == EVENT_NOTIFICATION && ev->task);

	/* A child's texts and thoughts are its own unless the host asked for them; its compactions are not shown. */
	if (of_child && ev->kind == EVENT_MESSAGE && ev->from_model && ev->block->kind != SEGMENT_TOOL_USE)
		wanted = e->session->tree.switches.forward_text;
	if (of_child && ev->compact)
		wanted = false;
	if (ev->kind == EVENT_DELTA)
		wanted = ev->raw.n > 0;
	if (!wanted)
		return;
	struct json_out w = json_out(&e->frame);
	json_open(&w, '{');
	frame_body(&w, e);
	json_putf(&w, "session_id:'%s', uuid:'%s'}", e->session->id, e->uuid);
}
