/* SPDX-License-Identifier: MIT
 * tool_agent.c - Agent: starts a child. All that happens then is in the room subagent. */
#include "agents/subagent/subagent.h"
#include "tools/tool_list.h"

static void agent_start(struct tool_call *call);
static void agent_cancel(struct tool_call *call);
static unsigned agent_flags(const struct tool_call *call);

const struct tool tool_agent = {
	TOOL_AGENT_FACTS,
	.start = agent_start,
	.cancel = agent_cancel,
	.flags_for = agent_flags,
};

static const char *text(struct tool_call *call, const char *key)
{
	return json_cstr(json_get(call->input, key), &call->arena);
}

static unsigned agent_flags(const struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *type = json_cstr(json_get(call->input, "subagent_type"), &a);

	return tool_agent.flags | (agent_needs_history(call->env->owner, type) ? TOOL_AFTER_ANSWER : 0);
}

static void resume(struct tool_call *call, struct str prompt)
{
	struct agent *a = call->env->owner;
	const char *id = text(call, "resume");
	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	bool background = json_bool(json_get(call->input, "run_in_background"));
	struct err err = { 0 };

	if (!record)
		tool_call_fail(call, "There is no agent '%s' in this session to resume.", id);
	else if (!strcmp(record->tool_use_id, call->id))
		agent_take_up(record, a, call); /* this very call had resumed it before a crash */
	else if (agent_continue(record, prompt, call, background, &err) < 0)
		tool_call_fail(call, "%s", err.text);
}

static void agent_start(struct tool_call *call)
{
	const struct json *background = json_get(call->input, "run_in_background");
	struct spawn_request request = {
		.description = json_str(json_get(call->input, "description"), &call->arena),
		.prompt = json_str(json_get(call->input, "prompt"), &call->arena),
		.type = text(call, "subagent_type"),
		.model = text(call, "model"),
		.effort = text(call, "effort"),
		.isolation = text(call, "isolation"),
		.name = text(call, "name"),
		.background_given = background != NULL,
		.background = json_bool(background),
	};

	(void)json_i64(json_get(call->input, "max_turns"), &request.max_turns);
	if (json_get(call->input, "resume"))
		resume(call, request.prompt);
	else
		agent_spawn(call->env->owner, &request, call);
}

static void agent_cancel(struct tool_call *call)
{
	struct agent *a = call->env->owner;

	agent_stop_waited(a->tree, call);
}
