/* SPDX-License-Identifier: MIT
 * hook_engine.c - the hook engine of a runtime: its events, and the hooks that ask a model or call a server's tool. */
#include "product/session/server_pool.h"
#include "lib/io/spawn.h"
#include "guard/sandbox/sandbox.h"
#include "agents/agent/one_shot.h"

struct cadre_session *session_by_id(struct services *sv, const char *id)
{
	return map_get(&sv->sessions_by_id, str_from(id));
}

static const struct event_agent *agent_of(struct cadre_session *s, const char *agent_id)
{
	struct agent *a = agent_id ? agent_tree_find(&s->tree, agent_id) : NULL;

	return a ? &a->who : NULL;
}

static void on_skipped(void *data, const struct hook_context *context, const struct hook *hook, const char *why)
{
	struct cadre_session *s = session_by_id(data, context->session_id);
	AUTO_BUF struct buf text = { 0 };

	if (!s)
		return;
	buf_addf(&text, "hook " STR_FMT " of %s does not run: %s", STR_ARG(hook->label), hook->origin->file, why);
	session_emit(s, &(struct event){
				.kind = EVENT_ERROR, .agent = agent_of(s, context->agent_id), .text = buf_str(&text) });
}

/* The output of an asynchronous hook is sent to the model with its next request; a message for the user is emitted as well. */
static void on_late(void *data, const struct hook_late *late)
{
	struct cadre_session *s = session_by_id(data, late->session_id);
	struct agent *a = s ? agent_tree_find(&s->tree, late->agent_id ? late->agent_id : "") : NULL;
	const struct str parts[] = { late->wake, late->system_message, late->wake.n ? STR("") : late->context };
	AUTO_BUF struct buf text = { 0 };

	if (!a)
		return;
	if (late->system_message.n)
		agent_emit(a, &(struct event){ .kind = EVENT_ERROR, .name = "note", .text = late->system_message });
	buf_addstr(&text, "<system-reminder>\n");
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (parts[i].n)
			buf_addf(&text, STR_FMT "\n", STR_ARG(parts[i]));
	buf_addstr(&text, "</system-reminder>");
	if (late->wake.n)
		agent_notice(a, NULL, buf_str(&text));
	else
		query_notice(&a->query, NULL, buf_str(&text));
}

static void hook_emit(struct services *sv, enum event_kind kind, const struct hook_report *r)
{
	struct cadre_session *s = session_by_id(sv, r->session_id);
	bool always = r->event == HOOK_SESSION_START || r->event == HOOK_SETUP;

	if (!s)
		return;
	struct event_hook hook = { .event = hook_events[r->event].name,
				   .outcome = hook_result_name(r->result),
				   .exit_code = r->exit_code,
				   .exited = r->exit_code != HOOK_NO_EXIT,
				   .out = r->out,
				   .err = r->err,
				   .note = r->note };
	struct event event = { .kind = kind,
			       .agent = agent_of(s, r->agent_id),
			       .id = r->id,
			       .text = r->name,
			       .is_error = r->result == HOOK_ERROR,
			       .hook = &hook };
	if (always || sv->options.hook_events)
		session_emit(s, &event);
	else
		session_note(s, &event);
}

static void on_started(void *data, const struct hook_report *report)
{
	hook_emit(data, EVENT_HOOK_STARTED, report);
}

static void on_ended(void *data, const struct hook_report *report)
{
	hook_emit(data, EVENT_HOOK_ENDED, report);
}

/* Hooks that are a question to a model, or a tool of a server. */

/* Type prompt: one answer; type agent: it may read files first. They count as spending of the session. */
static const char model_rules[] =
	"You check one event in the run of another agent. The message says what to check and shows the "
	"event as JSON. Answer with one JSON object and nothing else: {\"ok\": true} if all is as it "
	"should be, otherwise {\"ok\": false, \"reason\": \"...\"} with a reason that the other agent can "
	"act on. If what is wanted cannot be done at all, add \"impossible\": true.";

static void on_model_answer(void *data, bool failed, struct str answer)
{
	struct hook_call *call = data;

	call->state = NULL;
	hook_call_finish(call, failed, answer);
}

static void start_model_hook(void *data, struct hook_call *call)
{
	struct one_shot_spec spec = { .services = data,
				      .session_id = call->session_id,
				      .agent_id = call->agent_id,
				      .label = "hook",
				      .instructions = model_rules,
				      .model = call->hook->model,
				      .text = call->text,
				      .reads = call->hook->type == HOOK_AGENT };
	struct err err = { 0 };

	call->state = one_shot_start(&spec, on_model_answer, call, &err);
	if (!call->state)
		hook_call_finish(call, true, str_from(err.text));
}

static void cancel_model_hook(void *data, struct hook_call *call)
{
	if (call->state)
		one_shot_cancel(call->state);
}

/* Type mcp_tool: the result of the tool is the hook's output. */
static void on_tool_done(void *data, const struct server_reply *reply)
{
	struct hook_call *call = data;

	call->state = NULL;
	call->unanswered = reply->failed && !reply->json.n;
	hook_call_finish(call, reply->failed, reply->text);
}

static void start_tool_hook(void *data, struct hook_call *call)
{
	struct cadre_session *s = session_by_id(data, call->session_id);
	struct err err = { 0 };

	if (s)
		call->state = server_call_start(
			s,
			&(struct server_call_spec){ .server = str_from(call->hook->server),
						    .tool = str_from(call->hook->tool),
						    .arguments = call->text.n ? call->text : STR("{}"),
						    .policy = { .apart = true, .chosen = true, .by_hook = true } },
			on_tool_done, call, &err);
	if (!call->state) {
		call->unanswered = true;
		hook_call_finish(call, true, s ? str_from(err.text) : STR("the session has ended"));
	}
}

static void cancel_tool_hook(void *data, struct hook_call *call)
{
	if (call->state)
		server_call_cancel(call->state);
}

void services_open_hooks(struct services *sv)
{
	static const struct hook_runner model = { start_model_hook, cancel_model_hook };
	static const struct hook_runner server = { start_tool_hook, cancel_tool_hook };
	const char *limit = services_variable(sv, "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS");
	uint64_t end_ms = 0;

	if (sv->hooks)
		return;
	if (limit && !str_to_u64(str_from(limit), &end_ms))
		end_ms = 0;
	sv->hook_http = http_new(sv->loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION });
	sandbox_serve(sv->spawner);
	sv->hooks = hook_engine_new(&(struct hook_engine_options){
		.loop = sv->loop,
		.spawner = sv->spawner,
		.http = sv->hook_http,
		.runners = { [HOOK_PROMPT] = &model,
			     [HOOK_AGENT] = &model,
			     [HOOK_CALLBACK] = sv->hook_callback,
			     [HOOK_MCP_TOOL] = &server },
		.runner_data = sv,
		.observer = { .started = on_started,
			      .ended = on_ended,
			      .skipped = on_skipped,
			      .late = on_late,
			      .data = sv },
		.awaits_rewake = sv->options.single_prompt,
		.session_end_ms = end_ms,
	});
}

void services_close_hooks(struct services *sv)
{
	if (sv->hooks) {
		sv->draining++;
		hook_engine_drain(sv->hooks, services_drained, sv);
		while (sv->draining)
			loop_run(sv->loop);
		hook_engine_free(sv->hooks);
	}
	if (sv->hook_http)
		http_free(sv->hook_http);
}
