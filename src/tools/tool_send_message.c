/* SPDX-License-Identifier: MIT
 * tool_send_message.c - SendMessage: a word to another agent of the session. */
#include "json/json_write.h"
#include "tools/task.h"
#include "tools/tools_int.h"

static void send_start(struct tool_call *call);

const struct tool tool_send_message = {
	.name = "SendMessage",
	.definition = tool_send_message_json,
	.subject = "to",
	.flags = TOOL_NO_ASK,
	.start = send_start,
};

/* task: who gets it; NULL: nobody. */
static void answer(struct tool_call *call, struct str message, const struct task *task, bool resumed)
{
	struct json_out w = json_out(&call->result);

	json_open(&w, '{');
	json_kbool(&w, "success", task != NULL);
	json_kstr(&w, "message", message);
	if (resumed)
		json_kcstr(&w, "resumedAgentId", task->id);
	if (task) {
		json_key(&w, "pin");
		json_open(&w, '{');
		json_kcstr(&w, "id", task->id);
		if (task->name)
			json_kcstr(&w, "name", task->name);
		json_close(&w);
	}
	json_close(&w);
	tool_call_end(call, false);
}

static const char *name_of(const struct actor *a)
{
	return a->who.name ? a->who.name : a->who.id[0] ? a->who.id : "main";
}

static void send_to_main(struct tool_call *call, struct actor *from, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b,
		 "<agent-message from=\"%s\">\n" STR_FMT
		 "\n</agent-message>\nThis came from one of your agents, not from the user.",
		 name_of(from), STR_ARG(text));
	actor_notice(&from->tree->main, NULL, buf_str(&b));
	tool_call_finish(call, STR("{\"success\":true,\"message\":\"Message queued for delivery to main.\"}"));
}

static void send_to(struct tool_call *call, struct actor *from, struct task *task, struct str text)
{
	const char *name = task->name ? task->name : task->id;
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };

	if (from->child && task->live == from->child) {
		answer(call, STR("An agent cannot send messages to itself."), NULL, false);
	} else if (task->live && !agent_message(task->live, name_of(from), text)) {
		buf_addf(&b, "%s is about to end: send the message again when you are told so, it then goes on.", name);
		answer(call, buf_str(&b), NULL, false);
	} else if (task->live) {
		buf_addf(
			&b,
			"Message queued for delivery to %s at its next step. If it ends before, send it again: it then "
			"goes on with the message.",
			name);
		answer(call, buf_str(&b), task, false);
	} else if (agent_continue(task, text, NULL, true, &err) < 0) {
		answer(call, str_from(err.text), NULL, false);
	} else {
		buf_addf(&b, "Resuming agent %s", name);
		answer(call, buf_str(&b), task, true);
	}
}

static void send_start(struct tool_call *call)
{
	struct actor *a = call->env->owner;
	struct str to = str_trim(json_str(json_get(call->input, "to"), &call->arena));
	struct str text = json_str(json_get(call->input, "message"), &call->arena);
	AUTO_BUF struct buf b = { 0 };

	struct task *task = agent_tree_task(a->tree, to);
	if (!str_trim(text).n) {
		answer(call, STR("The message is empty."), NULL, false);
	} else if (!task && a->child && str_is_nocase(to, "main")) {
		send_to_main(call, a, text);
	} else if (!task) {
		buf_addf(&b, "No agent named '" STR_FMT "' is reachable.", STR_ARG(to));
		task_add_running(&b, a->tree);
		answer(call, buf_str(&b), NULL, false);
	} else {
		send_to(call, a, task, text);
	}
}
