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

/* An array of texts. */
static void put_ids(struct json_out *w, const char *key, const struct todo_ids *ids)
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

void todo_put(struct json_out *w, const struct todo *t, bool whole)
{
	char id[16];

	snprintf(id, sizeof id, "%u", t->id);
	json_open(w, '{');
	json_kcstr(w, "id", id);
	json_kcstr(w, "subject", t->subject);
	json_kcstr(w, "description", t->description);
	if (whole && t->active_form)
		json_kcstr(w, "activeForm", t->active_form);
	if (whole && t->owner)
		json_kcstr(w, "owner", t->owner);
	json_kcstr(w, "status", todo_status_name(t->status));
	put_ids(w, "blocks", &t->blocks);
	put_ids(w, "blockedBy", &t->blocked_by);
	if (whole && t->metadata.n)
		json_kraw(w, "metadata", t->metadata);
	json_close(w);
}

void todo_add_open(struct buf *out, const struct todo_list *l, const struct todo_ids *ids)
{
	size_t start = out->n;

	for (size_t i = 0; i < ids->count; i++)
		if (todo_is_open(l, ids->ids[i]))
			buf_addf(out, "%s#%u", out->n > start ? ", " : "", ids->ids[i]);
}
