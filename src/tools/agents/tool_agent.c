/* SPDX-License-Identifier: MIT
 * tool_agent.c - Agent starts a child, SendMessage speaks to one. What happens then is in the room subagent. */
#include "agents/subagent/subagent.h"
#include "agents/team/team.h"
#include "lib/json/json_write.h"
#include "tools/agents/task.h"
#include "core/tool/tool_list.h"

static void agent_start(struct tool_call *call);
static void agent_cancel(struct tool_call *call);
static unsigned agent_flags(const struct tool_call *call);

const struct tool tool_agent = {
	TOOL_AGENT_FACTS,
	.start = agent_start,
	.cancel = agent_cancel,
	.flags_for = agent_flags,
};

static const char *input_text(struct tool_call *call, const char *key)
{
	return json_cstr(json_get(call->input, key), &call->arena);
}

static unsigned agent_flags(const struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *type = json_cstr(json_get(call->input, "subagent_type"), &a);

	return tool_agent.flags | (agent_needs_history(call->env->owner, type) ? TOOL_AFTER_ANSWER : 0);
}

static void agent_resume_by_call(struct tool_call *call, struct str prompt, int64_t max_turns)
{
	struct agent *a = call->env->owner;
	const char *id = input_text(call, "resume");
	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	bool background = json_bool(json_get(call->input, "run_in_background")) && !a->tree->switches.background_off;
	struct err err = { 0 };

	if (!record)
		tool_call_fail(call, "There is no agent '%s' in this session to resume.", id);
	else if (!strcmp(record->tool_use_id, call->id))
		agent_take_up(record, a, call); /* this very call had resumed it before a crash */
	else if (agent_continue(record, prompt, call, background, max_turns, &err) < 0)
		tool_call_fail(call, "%s", err.text);
}

/* A named call of the lead makes a member. True: the call was answered, or has started one. */
static bool agent_join_team(struct tool_call *call, struct spawn_request *request)
{
	struct agent *a = call->env->owner;
	struct agent_tree *t = a->tree;
	struct agent_member member;
	AUTO_BUF struct buf note = { 0 };
	AUTO_BUF struct buf why = { 0 };
	struct err err = { 0 };
	bool fork = request->type && str_is_nocase(str_trim(str_from(request->type)), "fork");

	if (!t->switches.teams || fork || (!t->team && !t->switches.implicit_team))
		return false;
	if (a->parent) {
		if (t->team && a->record->member)
			tool_call_reject(call, "Members start no members: leave the name out to start a subagent.");
		return t->team && a->record->member;
	}
	if (!t->team && team_create(t, arena_printf(&call->arena, "session-%.8s", t->session_id), NULL, NULL, true,
				    &note, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return true;
	}
	if (agent_started_by_call(a, call)) { /* before a crash: the name is its own */
		agent_spawn(a, request, call);
		return true;
	}
	if (!team_admit(a, request, input_text(call, "team_name"), input_text(call, "mode"), &member, &call->arena,
			&note, &why)) {
		tool_call_reject(call, "%s", why.p);
		return true;
	}
	request->member = &member;
	request->note = note.n ? note.p : NULL;
	agent_spawn(a, request, call);
	team_files_changed(t->team->files);
	return true;
}

static void agent_start(struct tool_call *call)
{
	const struct json *background = json_get(call->input, "run_in_background");
	struct spawn_request request = {
		.description = json_str(json_get(call->input, "description"), &call->arena),
		.prompt = json_str(json_get(call->input, "prompt"), &call->arena),
		.type = input_text(call, "subagent_type"),
		.model = input_text(call, "model"),
		.effort = input_text(call, "effort"),
		.isolation = input_text(call, "isolation"),
		.name = input_text(call, "name"),
		.background_given = background != NULL,
		.background = json_bool(background),
	};

	(void)json_i64(json_get(call->input, "max_turns"), &request.max_turns);
	if (json_get(call->input, "resume"))
		agent_resume_by_call(call, request.prompt, request.max_turns);
	else if (!request.name || !agent_join_team(call, &request))
		agent_spawn(call->env->owner, &request, call);
}

static void agent_cancel(struct tool_call *call)
{
	struct agent *a = call->env->owner;

	agent_stop_waited(a->tree, call);
}

/* ---- SendMessage ------------------------------------------------------------------------------------------------ */

static void send_start(struct tool_call *call);

const struct tool tool_send_message = {
	TOOL_SEND_MESSAGE_FACTS,
	.start = send_start,
};

/* record: the recipient; NULL: there is none. */
static void send_answer(struct tool_call *call, struct str message, const struct agent_record *record, bool resumed)
{
	struct json_out w = json_out(&call->result);

	json_open(&w, '{');
	json_kbool(&w, "success", record != NULL);
	json_kstr(&w, "message", message);
	if (resumed)
		json_kcstr(&w, "resumedAgentId", record->id);
	if (record) {
		json_key(&w, "pin");
		json_open(&w, '{');
		json_kcstr(&w, "id", record->id);
		if (record->name)
			json_kcstr(&w, "name", record->name);
		json_close(&w);
	}
	json_close(&w);
	tool_call_end(call, false);
}

static const char *sender_name(const struct agent *a)
{
	return a->who.name ? a->who.name : a->who.id[0] ? a->who.id : "main";
}

static void send_to_main(struct tool_call *call, struct agent *from, struct str text)
{
	struct err err = { 0 };

	if (agent_message_main(from->tree, sender_name(from), text, &err) < 0)
		send_answer(call, str_from(err.text), NULL, false);
	else
		tool_call_finish(call, STR("{\"success\":true,\"message\":\"Message queued for delivery to main.\"}"));
}

/* An agent that has ended is resumed with the message. */
static void send_to_agent(struct tool_call *call, struct agent *from, struct agent_record *record, struct str text)
{
	const char *name = record->name ? record->name : record->id;
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };
	bool runs = record->live;

	if (from->parent && record->live == from) {
		send_answer(call, STR("An agent cannot send messages to itself."), NULL, false);
		return;
	}
	int status = runs ? agent_message(record->live, sender_name(from), text, &err)
			  : agent_continue(record, text, NULL, true, 0, &err);
	if (status < 0) {
		send_answer(call, str_from(err.text), NULL, false);
		return;
	}
	if (runs)
		buf_addf(
			&b,
			"Message queued for delivery to %s at its next step. If it fails before, the message waits until "
			"it goes on.",
			name);
	else
		buf_addf(&b, "Resuming agent %s", name);
	send_answer(call, buf_str(&b), record, !runs);
}

static void send_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct str to = str_trim(json_str(json_get(call->input, "to"), &call->arena));
	struct str text = json_str(json_get(call->input, "message"), &call->arena);
	AUTO_BUF struct buf b = { 0 };

	if (team_send(call))
		return;
	struct agent_record *record = agent_tree_record(a->tree, to);
	if (!str_trim(text).n) {
		send_answer(call, STR("The message is empty."), NULL, false);
	} else if (!record && a->parent && str_is_nocase(to, "main")) {
		send_to_main(call, a, text);
	} else if (!record) {
		buf_addf(&b, "No agent named '" STR_FMT "' is reachable.", STR_ARG(to));
		task_add_running(&b, a->tree);
		send_answer(call, buf_str(&b), NULL, false);
	} else {
		send_to_agent(call, a, record, text);
	}
}
