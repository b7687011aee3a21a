/* SPDX-License-Identifier: MIT
 * tool_task_update.c - TaskUpdate: changes an item of the task list, or removes it. Hooks see an item before it counts as
 * completed; while they look nothing is locked, so the list is read again for the change itself. */
#include "agents/agent/hooks.h"
#include "tools/todo.h"
#include "tools/tool_list.h"

static void update_start(struct tool_call *call);

const struct tool tool_task_update = {
	TOOL_TASK_UPDATE_FACTS,
	.start = update_start,
	.cancel = todo_show_cancel,
};

struct update {
	struct tool_call *call;
	struct todo_list list;
	struct todo *item;
	struct buf fields; /* JSON texts with commas between: what was changed */
	struct buf names;  /* the same for the model */
	enum todo_status before;
	bool removed;
};

static void update_release(struct update *u)
{
	todo_list_close(&u->list);
	buf_release(&u->fields);
	buf_release(&u->names);
}

static void note(struct update *u, const char *field)
{
	buf_addf(&u->fields, "%s\"%s\"", u->fields.n ? "," : "", field);
	buf_addf(&u->names, "%s%s", u->names.n ? ", " : " ", field);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void put_result(struct tool_call *call, const struct update *u, const char *why)
{
	struct json_out w = json_out(&call->result_json);

	json_open(&w, '{');
	json_kbool(&w, "success", !why);
	json_kstr(&w, "taskId", json_str(json_get(call->input, "taskId"), &call->arena));
	json_key(&w, "updatedFields");
	json_open(&w, '[');
	if (u && u->fields.n)
		json_put_raw(&w, buf_str(&u->fields));
	json_close(&w);
	if (why)
		json_kcstr(&w, "error", why);
	if (u && u->item && (u->removed || u->item->status != u->before)) {
		json_key(&w, "statusChange");
		json_open(&w, '{');
		json_kcstr(&w, "from", todo_status_name(u->before));
		json_kcstr(&w, "to", u->removed ? "deleted" : todo_status_name(u->item->status));
		json_close(&w);
	}
	json_close(&w);
}

static void not_found(struct tool_call *call)
{
	put_result(call, NULL, "Task not found");
	buf_addstr(&call->result, "Task not found");
	tool_call_end(call, false);
}

/* ---- the change -------------------------------------------------------------------------------------------------- */

static void set_text(struct update *u, const char *field, const char **at)
{
	const char *text = json_cstr(json_get(u->call->input, field), &u->call->arena);

	if (!text || (*at && !strcmp(*at, text)))
		return;
	*at = text;
	note(u, field);
}

static void set_status(struct update *u, struct str name)
{
	if (todo_status_find(name, &u->item->status) && u->item->status != u->before)
		note(u, "status");
}

/* Keys of the input replace those that are there; null takes one away. */
static void merge_metadata(struct update *u)
{
	const struct json *more = json_get(u->call->input, "metadata");
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *old = NULL;
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);

	if (!more)
		return;
	if (u->item->metadata.n)
		(void)json_parse(&reader, u->item->metadata.p, u->item->metadata.n, &old, NULL);
	json_open(&w, '{');
	for (struct json_member m = json_members(old); m.key; m = json_member_next(old, m)) {
		struct str key = json_str(m.key, &u->call->arena);
		if (json_get_str(more, key))
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	for (struct json_member m = json_members(more); m.key; m = json_member_next(more, m)) {
		if (json_is(m.value, JSON_NULL))
			continue;
		json_key_str(&w, json_str(m.key, &u->call->arena));
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
	u->item->metadata = arena_str(&u->list.arena, buf_str(&text));
	note(u, "metadata");
}

/* field: "addBlocks" or "addBlockedBy". The other items are written at once, this one with the rest. */
static int add_blocks(struct update *u, const char *field, bool blocks, struct err *err)
{
	const struct json *list = json_get(u->call->input, field);
	bool any = false;

	for (const struct json *v = list ? json_first(list) : NULL; v; v = json_next(list, v)) {
		struct str id = json_str(v, &u->call->arena);
		struct todo *other = todo_find(&u->list, id);
		if (!other || other == u->item)
			return err_set(err, ERR_USAGE, "%s: there is no other task " STR_FMT, field, STR_ARG(id));
		if (!todo_block(&u->list, blocks ? u->item : other, blocks ? other : u->item))
			continue;
		any = true;
		if (todo_write(&u->list, other, err) < 0)
			return -(int)err->kind;
	}
	if (any)
		note(u, blocks ? "blocks" : "blockedBy");
	return 0;
}

static int change(struct update *u, struct err *err)
{
	struct str status = json_str(json_get(u->call->input, "status"), &u->call->arena);

	if (str_is(status, "deleted")) {
		u->removed = true;
		note(u, "deleted");
		return todo_remove(&u->list, u->item, err);
	}
	set_text(u, "subject", &u->item->subject);
	set_text(u, "description", &u->item->description);
	set_text(u, "activeForm", &u->item->active_form);
	set_text(u, "owner", &u->item->owner);
	set_status(u, status);
	merge_metadata(u);
	if (add_blocks(u, "addBlocks", true, err) < 0 || add_blocks(u, "addBlockedBy", false, err) < 0)
		return -(int)err->kind;
	return u->fields.n ? todo_write(&u->list, u->item, err) : 0;
}

static void commit(struct tool_call *call)
{
	CLEANUP(update_release) struct update u = { .call = call, .list = { .lock = -1 } };
	struct err err = { 0 };

	if (!todo_open(call, &u.list, true))
		return;
	u.item = todo_find(&u.list, json_str(json_get(call->input, "taskId"), &call->arena));
	if (!u.item) {
		not_found(call);
		return;
	}
	u.before = u.item->status;
	int status = change(&u, &err);
	if (status < 0) {
		(status == -ERR_USAGE ? tool_call_reject : tool_call_fail)(call, "%s", err.text);
		return;
	}
	put_result(call, &u, NULL);
	buf_addf(&call->result, "Updated task #%u%s", u.item->id, u.names.n ? u.names.p : ": nothing was different");
	tool_call_end(call, false);
}

static void on_seen(struct tool_call *call, const char *id, struct str refusal)
{
	if (refusal.p)
		tool_call_fail(call, "Task #%s was not completed: " STR_FMT, id, STR_ARG(refusal));
	else
		commit(call);
}

static void update_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	char id[16];

	if (!json_str_is(json_get(call->input, "status"), "completed")) {
		commit(call);
		return;
	}
	if (!todo_open(call, &list, false))
		return;
	const struct todo *t = todo_find(&list, json_str(json_get(call->input, "taskId"), &call->arena));
	if (!t || t->status == TODO_COMPLETED) {
		commit(call);
		return;
	}
	snprintf(id, sizeof id, "%u", t->id);
	todo_show(call, true, &(struct todo_words){ id, t->subject, t->description }, on_seen);
}
