/* SPDX-License-Identifier: MIT
 * tool_task_list.c - TaskList: the whole task list. */
#include "tools/todo.h"
#include "tools/tool_list.h"

static void list_start(struct tool_call *call);

const struct tool tool_task_list = {
	TOOL_TASK_LIST_FACTS,
	.start = list_start,
};

/* Only what is still open stands in the way. */
static void put_blockers(struct json_out *w, const struct todo_list *l, const struct todo *t)
{
	char id[16];

	json_key(w, "blockedBy");
	json_open(w, '[');
	for (size_t i = 0; i < t->blocked_by.count; i++) {
		snprintf(id, sizeof id, "%u", t->blocked_by.ids[i]);
		if (todo_is_open(l, t->blocked_by.ids[i]))
			json_put_cstr(w, id);
	}
	json_close(w);
}

static void put_item(struct json_out *w, const struct todo_list *l, const struct todo *t)
{
	char id[16];

	snprintf(id, sizeof id, "%u", t->id);
	json_open(w, '{');
	json_kcstr(w, "id", id);
	json_kcstr(w, "subject", t->subject);
	json_kcstr(w, "status", todo_status_name(t->status));
	if (t->owner)
		json_kcstr(w, "owner", t->owner);
	put_blockers(w, l, t);
	json_close(w);
}

static void say(struct buf *out, const struct todo_list *l, const struct todo *t)
{
	AUTO_BUF struct buf blockers = { 0 };

	buf_addf(out, "%s#%u [%s] %s", out->n ? "\n" : "", t->id, todo_status_name(t->status), t->subject);
	if (t->owner)
		buf_addf(out, " (%s)", t->owner);
	todo_add_open(&blockers, l, &t->blocked_by);
	if (blockers.n)
		buf_addf(out, " [blocked by %s]", blockers.p);
}

static void list_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct json_out w = json_out(&call->result_json);

	if (!todo_open(call, &list, false))
		return;
	json_open(&w, '{');
	json_key(&w, "tasks");
	json_open(&w, '[');
	for (size_t i = 0; i < list.count; i++) {
		put_item(&w, &list, &list.items[i]);
		say(&call->result, &list, &list.items[i]);
	}
	json_close(&w);
	json_close(&w);
	if (!list.count)
		buf_addstr(&call->result, "No tasks found");
	tool_call_end(call, false);
}
