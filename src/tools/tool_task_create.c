/* SPDX-License-Identifier: MIT
 * tool_task_create.c - TaskCreate: one more item for the task list. Hooks see it when it is there, and can have it removed. */
#include "agents/agent/hooks.h"
#include "tools/todo.h"
#include "tools/tool_list.h"

static void create_start(struct tool_call *call);

const struct tool tool_task_create = {
	TOOL_TASK_CREATE_FACTS,
	.start = create_start,
	.cancel = todo_show_cancel,
};

static void take_back(struct tool_call *call, const char *id, struct str why)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct err err = { 0 };

	buf_clear(&call->result);
	buf_clear(&call->result_json);
	if (!todo_open(call, &list, true))
		return;
	const struct todo *t = todo_find(&list, str_from(id));
	if (t && todo_remove(&list, t, &err) < 0)
		tool_call_fail(call, "%s", err.text);
	else
		tool_call_fail(call, "The task was not created: " STR_FMT, STR_ARG(why));
}

static void on_seen(struct tool_call *call, const char *id, struct str refusal)
{
	if (refusal.p)
		take_back(call, id, refusal);
	else
		tool_call_end(call, false);
}

static void put_result(struct tool_call *call, const char *id, const struct todo *t)
{
	struct json_out w = json_out(&call->result_json);

	json_open(&w, '{');
	json_key(&w, "task");
	json_open(&w, '{');
	json_kcstr(&w, "id", id);
	json_kcstr(&w, "subject", t->subject);
	json_kcstr(&w, "description", t->description);
	json_close(&w);
	json_close(&w);
	buf_addf(&call->result, "Task #%s created successfully: %s", id, t->subject);
}

static bool write_item(struct tool_call *call, struct todo *t)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct err err = { 0 };

	if (!todo_open(call, &list, true))
		return false;
	t->id = todo_next_id(&list);
	if (todo_write(&list, t, &err) == 0)
		return true;
	tool_call_fail(call, "%s", err.text);
	return false;
}

static void create_start(struct tool_call *call)
{
	const struct json *metadata = json_get(call->input, "metadata");
	struct todo t = {
		.subject = json_cstr(json_get(call->input, "subject"), &call->arena),
		.description = json_cstr(json_get(call->input, "description"), &call->arena),
		.active_form = json_cstr(json_get(call->input, "activeForm"), &call->arena),
		.metadata = metadata ? json_raw(metadata) : (struct str){ 0 },
	};
	char id[16];

	if (!t.subject || !str_trim(str_from(t.subject)).n || !t.description) {
		tool_call_reject(call, "InputValidationError: subject must be a text that says something.");
		return;
	}
	if (!write_item(call, &t))
		return;
	snprintf(id, sizeof id, "%u", t.id);
	put_result(call, id, &t);
	todo_show(call, false, &(struct todo_words){ id, t.subject, t.description }, on_seen);
}
