/* SPDX-License-Identifier: MIT
 * todo.c - what the tools of the task list share. */
#include "tools/todo.h"

bool todo_open(struct tool_call *call, struct todo_list *l, bool to_change)
{
	struct err err = { 0 };

	if (!call->env->todo_dir)
		tool_call_fail(call, "There is no task list: the session is not kept on disk.");
	else if (todo_list_open(l, call->env->todo_dir, to_change, &err) < 0)
		tool_call_fail(call, "%s", err.text);
	else
		return true;
	return false;
}

void todo_put_ids(struct json_out *w, const char *key, const struct todo_ids *ids)
{
	char text[16];

	json_key(w, key);
	json_open(w, '[');
	for (size_t i = 0; i < ids->count; i++) {
		snprintf(text, sizeof text, "%u", ids->ids[i]);
		json_put_cstr(w, text);
	}
	json_close(w);
}

void todo_add_open(struct buf *out, const struct todo_list *l, const struct todo_ids *ids)
{
	size_t start = out->n;

	for (size_t i = 0; i < ids->count; i++)
		if (todo_is_open(l, ids->ids[i]))
			buf_addf(out, "%s#%u", out->n > start ? ", " : "", ids->ids[i]);
}
