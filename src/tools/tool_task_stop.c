/* SPDX-License-Identifier: MIT
 * tool_task_stop.c - TaskStop: ends an agent or a shell that works in the background. */
#include "lib/json/json_write.h"
#include "tools/task.h"
#include "tools/tool_list.h"

static void stop_start(struct tool_call *call);

const struct tool tool_task_stop = {
	TOOL_TASK_STOP_FACTS,
	.start = stop_start,
};

static void answer(struct tool_call *call, const char *id, const char *type, const char *what)
{
	AUTO_BUF struct buf message = { 0 };
	struct json_out w = json_out(&call->result);

	buf_addf(&message, "Successfully stopped task: %s (%s)", id, what);
	json_open(&w, '{');
	json_kcstr(&w, "message", message.p);
	json_kcstr(&w, "task_id", id);
	json_kcstr(&w, "task_type", type);
	json_kcstr(&w, "command", what);
	json_close(&w);
	tool_call_end(call, false);
}

static bool is_own_ancestor(const struct agent *a, const struct agent_record *record)
{
	for (; a->parent; a = a->parent)
		if (a->record == record)
			return true;
	return false;
}

static void stop_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	const char *id = json_cstr(json_get(call->input, "task_id"), &call->arena);
	AUTO_BUF struct buf running = { 0 };

	if (!id)
		id = json_cstr(json_get(call->input, "shell_id"), &call->arena);
	if (!id) {
		tool_call_reject(call, "InputValidationError: TaskStop needs task_id.");
		return;
	}
	struct shell *shell = shell_set_find(call->env->shells, str_from(id));
	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	if (shell) {
		AUTO_FREE char *label = xstrdup(shell->label);
		shell_stop(shell, SHELL_STOPPED);
		answer(call, id, "local_bash", label);
	} else if (record && record->live && is_own_ancestor(a, record)) {
		tool_call_reject(call, "An agent cannot stop itself or the agents it works for.");
	} else if (record && record->live) {
		agent_stop(record, false);
		answer(call, record->id, "local_agent", record->description);
	} else if (record) {
		tool_call_reject(call, "Task %s is not running (it is %s).", record->id,
				 end_words(record->state)->state);
	} else {
		task_add_running(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	}
}
