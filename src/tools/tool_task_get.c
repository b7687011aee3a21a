/* SPDX-License-Identifier: MIT
 * tool_task_get.c - TaskGet: one item of the task list. */
#include "tools/todo.h"
#include "tools/tool_list.h"

static void get_start(struct tool_call *call);

const struct tool tool_task_get = {
	TOOL_TASK_GET_FACTS,
	.start = get_start,
};

static void say(struct buf *out, const struct todo_list *l, const struct todo *t)
{
	AUTO_BUF struct buf open = { 0 };

	buf_addf(out, "Task #%u: %s\nStatus: %s\nDescription: %s", t->id, t->subject, todo_status_name(t->status),
		 t->description);
	if (t->owner)
		buf_addf(out, "\nOwner: %s", t->owner);
	todo_add_open(&open, l, &t->blocked_by);
	if (open.n)
		buf_addf(out, "\nBlocked by: %s", open.p);
	buf_clear(&open);
	todo_add_open(&open, l, &t->blocks);
	if (open.n)
		buf_addf(out, "\nBlocks: %s", open.p);
}

static void get_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct json_out w = json_out(&call->result_json);

	if (!todo_open(call, &list, false))
		return;
	const struct todo *t = todo_find(&list, json_str(json_get(call->input, "taskId"), &call->arena));
	json_open(&w, '{');
	json_key(&w, "task");
	if (t) {
		todo_put(&w, t, false);
		say(&call->result, &list, t);
	} else {
		json_put_null(&w);
		buf_addstr(&call->result, "Task not found");
	}
	json_close(&w);
	tool_call_end(call, false);
}
