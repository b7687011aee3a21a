/* SPDX-License-Identifier: MIT
 * tool_send_message.c - SendMessage: a word to another agent of the session. */
#include "lib/json/json_write.h"
#include "agents/subagent/subagent.h"
#include "tools/task.h"
#include "tools/tool_list.h"

static void send_start(struct tool_call *call);

const struct tool tool_send_message = {
	TOOL_SEND_MESSAGE_FACTS,
	.start = send_start,
};

/* task: who gets it; NULL: nobody. */
static void answer(struct tool_call *call, struct str message, const struct agent_record *record, bool resumed)
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

static const char *name_of(const struct agent *a)
{
	return a->who.name ? a->who.name : a->who.id[0] ? a->who.id : "main";
}

static void send_to_main(struct tool_call *call, struct agent *from, struct str text)
{
	struct err err = { 0 };

	if (agent_message_main(from->tree, name_of(from), text, &err) < 0)
		answer(call, str_from(err.text), NULL, false);
	else
		tool_call_finish(call, STR("{\"success\":true,\"message\":\"Message queued for delivery to main.\"}"));
}

/* To one that runs, or that goes on with it. */
static void send_to(struct tool_call *call, struct agent *from, struct agent_record *record, struct str text)
{
	const char *name = record->name ? record->name : record->id;
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };
	bool runs = record->live;

	if (from->parent && record->live == from) {
		answer(call, STR("An agent cannot send messages to itself."), NULL, false);
		return;
	}
	int status = runs ? agent_message(record->live, name_of(from), text, &err)
			  : agent_continue(record, text, NULL, true, &err);
	if (status < 0) {
		answer(call, str_from(err.text), NULL, false);
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
	answer(call, buf_str(&b), record, !runs);
}

static void send_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct str to = str_trim(json_str(json_get(call->input, "to"), &call->arena));
	struct str text = json_str(json_get(call->input, "message"), &call->arena);
	AUTO_BUF struct buf b = { 0 };

	struct agent_record *record = agent_tree_record(a->tree, to);
	if (!str_trim(text).n) {
		answer(call, STR("The message is empty."), NULL, false);
	} else if (!record && a->parent && str_is_nocase(to, "main")) {
		send_to_main(call, a, text);
	} else if (!record) {
		buf_addf(&b, "No agent named '" STR_FMT "' is reachable.", STR_ARG(to));
		task_add_running(&b, a->tree);
		answer(call, buf_str(&b), NULL, false);
	} else {
		send_to(call, a, record, text);
	}
}
