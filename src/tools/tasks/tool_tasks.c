/* SPDX-License-Identifier: MIT
 * tool_tasks.c - the tools of the task list (TaskCreate, TaskGet, TaskList, TaskUpdate) and TodoWrite, the agent's own list. Hooks
 * see a new item and one that is about to be completed; while they look nothing is locked, so the list is read again. */
#include "agents/agent/hooks.h"
#include "agents/member/lead.h"
#include "config/settings/settings.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/tasks/todo_list.h"
#include "core/tool/tool_list.h"

/* TaskCreate: a new item, which hooks can have removed. */

/* The result says which one, until the list could be changed. */
static void create_undo(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct str why = buf_str(&call->result), id = str_cut(&why, ' ');
	struct err err = { 0 };

	if (!todo_open(call, &list, create_undo))
		return;
	const struct todo *t = todo_find(&list, id);
	const char *reason = arena_str(&call->arena, why).p;
	int status = t ? todo_remove(&list, t, &err) : 0;
	buf_clear(&call->result);
	if (status < 0)
		tool_call_fail(call, "%s", err.text);
	else
		tool_call_fail(call, "The task was not created: %s", reason);
}

static void on_creation_seen(struct tool_call *call, const char *id, struct str refusal)
{
	if (!refusal.p) {
		tool_call_end(call);
		return;
	}
	buf_clear(&call->result);
	buf_clear(&call->result_json);
	buf_addf(&call->result, "%s " STR_FMT, id, STR_ARG(refusal));
	create_undo(call);
}

static bool is_of_team(const struct tool_call *call)
{
	const struct agent *a = call->env->owner;

	return a->tree->team || a->tree->lead;
}

/* In a team {"cadre":{"call":ID}, ...}: a call that is found without a result after a crash knows what it has created. */
static struct str mark_metadata(struct tool_call *call, const struct json *metadata)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);

	if (!is_of_team(call))
		return metadata ? json_raw(metadata) : (struct str){ 0 };
	json_putf(&w, "{cadre:{call:'%s'}", call->id);
	json_put_members(&w, metadata, (const char *const[]){ "cadre", NULL }, NULL);
	json_close(&w);
	return arena_str(&call->arena, buf_str(&text));
}

static struct todo *created_before(struct tool_call *call, struct todo_list *list)
{
	if (!call->again)
		return NULL;
	todo_read_all(list);
	for (size_t i = 0; i < list->count; i++) {
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		struct str metadata = list->items[i].metadata;
		if (metadata.n && json_parse(&reader, metadata.p, metadata.n, &root, NULL) == 0 &&
		    json_str_is(json_get(json_get(root, "cadre"), "call"), call->id))
			return &list->items[i];
	}
	return NULL;
}

static void create_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct err err = { 0 };
	struct todo t = {
		.subject = json_cstr(json_get(call->input, "subject"), &call->arena),
		.description = json_cstr(json_get(call->input, "description"), &call->arena),
		.active_form = json_cstr(json_get(call->input, "activeForm"), &call->arena),
		.metadata = mark_metadata(call, json_get(call->input, "metadata")),
	};
	char id[16];

	if (!t.subject || !str_trim(str_from(t.subject)).n || !t.description) {
		tool_call_reject(call, "InputValidationError: subject must not be empty.");
		return;
	}
	if (call->again && !is_of_team(call)) {
		tool_call_reject(call,
				 "The program ended before this call had a result. It may or may not have run: look at "
				 "TaskList before you repeat it.");
		return;
	}
	if (!todo_open_parts(call, &list, create_start))
		return;
	const struct todo *before = created_before(call, &list);
	t.id = before ? before->id : list.highest + 1;
	if (!before && todo_write(&list, &t, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	todo_list_close(&list); /* hooks may use it */
	snprintf(id, sizeof id, "%u", t.id);
	json_addf(&call->result_json, "{task:{id:'%s', subject:'%s', description:'%s'}}", id, t.subject, t.description);
	buf_addf(&call->result, "Task #%s created successfully: %s", id, t.subject);
	todo_run_hooks(call, false, &(struct todo_info){ id, t.subject, t.description }, on_creation_seen);
}

const struct tool tool_task_create = {
	TOOL_TASK_CREATE_FACTS,
	.start = create_start,
	.cancel = todo_hooks_cancel,
};

static void get_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct json_out w = json_out(&call->result_json);

	if (!todo_open(call, &list, NULL))
		return;
	const struct todo *t = todo_find(&list, json_str(json_get(call->input, "taskId"), &call->arena));
	json_putf(&w, "{task:");
	if (t) {
		struct buf *out = &call->result;
		AUTO_BUF struct buf open = { 0 };
		todo_put(&w, t, false);
		buf_addf(out, "Task #%u: %s\nStatus: %s\nDescription: %s", t->id, t->subject,
			 todo_status_name(t->status), t->description);
		if (t->owner)
			buf_addf(out, "\nOwner: %s", t->owner);
		todo_add_open(&open, &list, &t->blocked_by);
		if (open.n)
			buf_addf(out, "\nBlocked by: %s", open.p);
		buf_clear(&open);
		todo_add_open(&open, &list, &t->blocks);
		if (open.n)
			buf_addf(out, "\nBlocks: %s", open.p);
	} else {
		json_put_null(&w);
		buf_addstr(&call->result, "Task not found");
	}
	json_close(&w);
	tool_call_end(call);
}

const struct tool tool_task_get = { TOOL_TASK_GET_FACTS, .start = get_start };

static void list_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	struct json_out w = json_out(&call->result_json);

	if (!todo_open(call, &list, NULL))
		return;
	json_putf(&w, "{tasks:[");
	for (size_t i = 0; i < list.count; i++) {
		/* An item of the list: an object for w, a line for out. */
		struct buf *out = &call->result;
		const struct todo *t = &list.items[i];
		AUTO_BUF struct buf blockers = { 0 };
		json_putf(&w, "{id:'%u', subject:'%s', status:'%s', owner?:'%s'", t->id, t->subject,
			  todo_status_name(t->status), t->owner);
		todo_put_ids(&w, "blockedBy", &t->blocked_by, &list);
		json_close(&w);
		buf_addf(out, "%s#%u [%s] %s", out->n ? "\n" : "", t->id, todo_status_name(t->status), t->subject);
		if (t->owner)
			buf_addf(out, " (%s)", t->owner);
		todo_add_open(&blockers, &list, &t->blocked_by);
		if (blockers.n)
			buf_addf(out, " [blocked by %s]", blockers.p);
	}
	json_putf(&w, "]}");
	if (!list.count)
		buf_addstr(&call->result, "No tasks found");
	tool_call_end(call);
}

const struct tool tool_task_list = { TOOL_TASK_LIST_FACTS, .start = list_start };

struct update {
	struct tool_call *call;
	struct todo_list list;
	struct todo *item;
	struct buf fields; /* JSON texts with commas between: what was changed */
	struct buf names;  /* the same for the model */
	enum todo_status before;
	bool removed;
	bool in_team; /* rules of a team hold */
};

static void update_release(struct update *u)
{
	todo_list_close(&u->list);
	buf_release(&u->fields);
	buf_release(&u->names);
}

static void update_note(struct update *u, const char *field)
{
	buf_addf(&u->fields, "%s\"%s\"", u->fields.n ? "," : "", field);
	buf_addf(&u->names, "%s%s", u->names.n ? ", " : " ", field);
}

static void put_updated(struct tool_call *call, const struct update *u, const char *why)
{
	struct json_out w = json_out(&call->result_json);

	json_putf(&w, "{success:!!%d, taskId:'%.*s', updatedFields:[", !why,
		  STR_ARG(json_str(json_get(call->input, "taskId"), &call->arena)));
	if (u && u->fields.n)
		json_put_raw(&w, buf_str(&u->fields));
	json_putf(&w, "], error?:'%s'", why);
	if (u && u->item && (u->removed || u->item->status != u->before))
		json_putf(&w, "statusChange:{from:'%s', to:'%s'}", todo_status_name(u->before),
			  u->removed ? "deleted" : todo_status_name(u->item->status));
	json_close(&w);
}

/* The rules of a team: who may change what. */

static bool acts_as_lead(const struct agent *a)
{
	return a->parent ? !a->record->member : !a->tree->lead;
}

static const char *actor_name(const struct agent *a)
{
	return acts_as_lead(a) ? TEAM_LEAD : a->parent ? a->record->name : a->tree->lead->name;
}

static int check_owner(const struct update *u, struct agent *a, const char *wish, struct err *err)
{
	const char *owner = u->item->owner, *self = actor_name(a);
	AUTO_BUF struct buf members = { 0 };

	for (const struct agent_record *r = a->tree->records; r; r = r->next)
		if (r->member && r->member->state != MEMBER_GONE)
			buf_addf(&members, ", %s", r->name);
	struct agent_record *to = agent_tree_member(a->tree, str_from(wish));
	if (wish[0] && strcmp(wish, TEAM_LEAD) != 0 && strcmp(wish, self) != 0 &&
	    (!to || to->member->state == MEMBER_GONE || strcmp(to->name, wish) != 0))
		return err_set(err, ERR_USAGE, "owner: no such member: '%s'. Members: %s%s", wish, TEAM_LEAD,
			       members.n ? members.p : "");
	if (owner && owner[0] && strcmp(owner, wish) != 0 && strcmp(owner, self) != 0 && !acts_as_lead(a))
		return err_set(err, ERR_USAGE, "already_claimed: task #%u belongs to %s", u->item->id, owner);
	if (wish[0] && strcmp(wish, self) != 0 && !acts_as_lead(a))
		return err_set(err, ERR_USAGE, "Only the lead assigns tasks to others; send %s a message instead.",
			       wish);
	if (wish[0] && u->item->status == TODO_COMPLETED)
		return err_set(err, ERR_USAGE, "already_resolved: task #%u is completed", u->item->id);
	return 0;
}

/* Checks against the files on disk now, not against what the model saw. */
static int check_rules(struct update *u, struct agent *a, struct err *err)
{
	const struct json *in = u->call->input;
	const char *wish = json_cstr(json_get(in, "owner"), &u->call->arena);
	const char *owner = u->item->owner && u->item->owner[0] ? u->item->owner : NULL;
	bool lead = acts_as_lead(a), mine = owner && !strcmp(owner, actor_name(a));
	bool changes = json_get(in, "status") || json_get(in, "subject") || json_get(in, "description");
	bool begins = json_str_is(json_get(in, "status"), "in_progress");
	AUTO_BUF struct buf open = { 0 };

	if (wish && check_owner(u, a, wish, err) < 0)
		return -(int)err->kind;
	if (changes && owner && !mine && !lead)
		return err_set(err, ERR_USAGE, "Task #%u belongs to %s: only its owner and the lead change it.",
			       u->item->id, owner);
	todo_add_open(&open, &u->list, &u->item->blocked_by);
	if (begins && open.n)
		return err_set(err, ERR_USAGE, "blocked: task #%u waits for %s", u->item->id, open.p);
	bool claims = !lead && !mine && ((wish && wish[0]) || (begins && !owner));
	bool one_task = settings_bool(a->tree->policy->settings, "teams.oneTask");
	if (claims && one_task) {
		unsigned id = u->item->id;
		todo_read_all(&u->list);
		u->item = todo_find_id(&u->list, id);
	}
	for (size_t i = 0; claims && one_task && i < u->list.count; i++) {
		const struct todo *t = &u->list.items[i];
		if (t != u->item && t->status != TODO_COMPLETED && t->owner && !strcmp(t->owner, actor_name(a)))
			return err_set(err, ERR_USAGE, "agent_busy: task #%u is still yours, and it is not completed",
				       t->id);
	}
	if (begins && !owner && !wish && !lead) {
		u->item->owner = actor_name(a);
		update_note(u, "owner");
	}
	return 0;
}

/* TEAM_LEAD: it has no owner, and can be given to a member now. */
static void notify_owner(const struct update *u, const struct agent *a, const struct todo *t, const char *owner)
{
	char id[16];

	snprintf(id, sizeof id, "%u", t->id);
	struct todo_info info = { id, t->subject, t->description };
	if (a->tree->lead)
		lead_assign(a->tree, owner, &info, u->call->id);
	else
		team_assign(a->tree->team, owner, &info, actor_name(a), u->call->id, u->call->again);
}

/* Notifies a member that gets a task or can begin with one of its own. */
static void notify_owners(struct update *u, const struct agent *a, const char *before)
{
	const struct todo *t = u->item;
	bool again = u->call->again; /* after a crash the change may be there, and its message not; that has one id */
	bool completed = t->status == TODO_COMPLETED && (u->before != TODO_COMPLETED || again);
	bool given = t->owner && t->owner[0] &&
		     (!before || strcmp(before, t->owner) != 0 || (again && json_get(u->call->input, "owner")));

	if (given && t->status != TODO_COMPLETED && strcmp(t->owner, actor_name(a)) != 0)
		notify_owner(u, a, t, t->owner);
	for (size_t i = 0; completed && i < t->blocks.count; i++) {
		const struct todo *next = todo_find_id(&u->list, t->blocks.ids[i]);
		AUTO_BUF struct buf open = { 0 };
		if (next)
			todo_add_open(&open, &u->list, &next->blocked_by);
		if (!next || open.n || next->status != TODO_PENDING)
			continue;
		bool owned = next->owner && next->owner[0];
		if (owned ? strcmp(next->owner, actor_name(a)) != 0 : !acts_as_lead(a))
			notify_owner(u, a, next, owned ? next->owner : TEAM_LEAD);
	}
}

static void update_text(struct update *u, const char *field, const char **at)
{
	const char *text = json_cstr(json_get(u->call->input, field), &u->call->arena);

	if (!text || (*at && !strcmp(*at, text)))
		return;
	*at = text;
	update_note(u, field);
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
	json_put_members(&w, old, NULL, more);
	for (struct json_member m = json_members(more); m.key; m = json_member_next(more, m)) {
		if (json_is(m.value, JSON_NULL))
			continue;
		json_key_str(&w, json_str(m.key, &u->call->arena));
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
	u->item->metadata = arena_str(&u->list.arena, buf_str(&text));
	update_note(u, "metadata");
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
		AUTO_BUF struct buf way = { 0 };
		if (u->in_team && todo_makes_cycle(&u->list, blocks ? other : u->item, blocks ? u->item : other, &way))
			return err_set(err, ERR_USAGE, "%s: the tasks would wait for each other: %s", field, way.p);
		if (!todo_block(&u->list, blocks ? u->item : other, blocks ? other : u->item))
			continue;
		any = true;
		if (todo_write(&u->list, other, err) < 0)
			return -(int)err->kind;
	}
	if (any)
		update_note(u, blocks ? "blocks" : "blockedBy");
	return 0;
}

/* Locks the item and those that it is to wait for, or that are to wait for it, before anything is changed. */
static int hold_items(struct update *u, struct err *err)
{
	static const char *const fields[] = { "addBlocks", "addBlockedBy" };
	int status = todo_hold(&u->list, u->item, err);

	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		const struct json *list = json_get(u->call->input, fields[i]);
		for (const struct json *v = list ? json_first(list) : NULL; v && status == 0; v = json_next(list, v)) {
			struct todo *other = todo_find(&u->list, json_str(v, &u->call->arena));
			if (other)
				status = todo_hold(&u->list, other, err);
		}
	}
	return status;
}

static int update_apply(struct update *u, struct err *err)
{
	struct str status = json_str(json_get(u->call->input, "status"), &u->call->arena);

	if (str_is(status, "deleted")) {
		u->removed = true;
		update_note(u, "deleted");
		return todo_remove(&u->list, u->item, err);
	}
	update_text(u, "subject", &u->item->subject);
	update_text(u, "description", &u->item->description);
	update_text(u, "activeForm", &u->item->active_form);
	update_text(u, "owner", &u->item->owner);
	if (todo_status_find(status, &u->item->status) && u->item->status != u->before)
		update_note(u, "status");
	merge_metadata(u);
	if (add_blocks(u, "addBlocks", true, err) < 0 || add_blocks(u, "addBlockedBy", false, err) < 0)
		return -(int)err->kind;
	return u->fields.n ? todo_write(&u->list, u->item, err) : 0;
}

static void update_commit(struct tool_call *call)
{
	CLEANUP(update_release) struct update u = { .call = call, .list = { .lock = -1 } };
	struct err err = { 0 };

	if (!todo_open_parts(call, &u.list, update_commit))
		return;
	u.item = todo_find(&u.list, json_str(json_get(call->input, "taskId"), &call->arena));
	if (!u.item) {
		put_updated(call, NULL, "Task not found");
		buf_addstr(&call->result, "Task not found");
		tool_call_end(call);
		return;
	}
	struct agent *a = call->env->owner;
	u.in_team = a && (a->tree->team || a->tree->lead);
	int status = hold_items(&u, &err);
	if (status == -ERR_BUSY && todo_try_again(call, update_commit))
		return;
	u.before = u.item->status;
	const char *owner = u.item->owner;
	if (status == 0 && u.in_team)
		status = check_rules(&u, a, &err);
	if (status == 0)
		status = update_apply(&u, &err);
	if (status < 0) {
		(status == -ERR_USAGE ? tool_call_reject : tool_call_fail)(call, "%s", err.text);
		return;
	}
	crash_point(claim_written);
	put_updated(call, &u, NULL);
	buf_addf(&call->result, "Updated task #%u%s", u.item->id, u.names.n ? u.names.p : ": nothing was different");
	if (u.in_team && !u.removed) {
		notify_owners(&u, a, owner);
		if (u.item->status == TODO_COMPLETED && (u.before != TODO_COMPLETED || call->again) &&
		    !acts_as_lead(a)) {
			/* for the notification at the end of its run */
			struct agent_member *m = a->parent ? a->record->member : NULL;
			snprintf(m ? m->completed : a->tree->lead->completed, sizeof m->completed, "%u", u.item->id);
			buf_addstr(&call->result, ". Look at TaskList for the next one.");
		}
	}
	tool_call_end(call);
}

static void on_completion_seen(struct tool_call *call, const char *id, struct str refusal)
{
	if (refusal.p)
		tool_call_fail(call, "Task #%s was not completed: " STR_FMT, id, STR_ARG(refusal));
	else
		update_commit(call);
}

static void update_start(struct tool_call *call)
{
	AUTO_TODO_LIST struct todo_list list = { .lock = -1 };
	char id[16];

	if (!json_str_is(json_get(call->input, "status"), "completed")) {
		update_commit(call);
		return;
	}
	if (!todo_open_parts(call, &list, NULL))
		return;
	const struct todo *t = todo_find(&list, json_str(json_get(call->input, "taskId"), &call->arena));
	if (!t || t->status == TODO_COMPLETED) {
		update_commit(call);
		return;
	}
	snprintf(id, sizeof id, "%u", t->id);
	todo_run_hooks(call, true, &(struct todo_info){ id, t->subject, t->description }, on_completion_seen);
}

const struct tool tool_task_update = {
	TOOL_TASK_UPDATE_FACTS,
	.start = update_start,
	.cancel = todo_hooks_cancel,
};

/* TodoWrite: an array of {"content", "status", "activeForm"}, replaced as a whole. */

enum { LARGEST_LIST = 1 << 20 };

static void todo_write_start(struct tool_call *call)
{
	const char *path = call->env->todo_file;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf old = { 0 }, text = { 0 };
	struct str list = json_raw(json_get(call->input, "todos"));
	const struct json *root;
	struct err err = { 0 };

	if (!path) {
		tool_call_fail(call, "No list: the session is not kept on disk.");
		return;
	}
	if (list.n > LARGEST_LIST) {
		tool_call_fail(call, "the list is larger than %d bytes", LARGEST_LIST);
		return;
	}
	bool readable = file_read(path, LARGEST_LIST, &old, NULL) == 0 &&
			json_parse(&reader, old.p, old.n, &root, NULL) == 0 && json_is(root, JSON_ARRAY);
	buf_addf(&text, STR_FMT "\n", STR_ARG(list));
	if (file_make_parents(path, &err) < 0 || file_replace(path, text.p, text.n, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	json_addf(&call->result_json, "{oldTodos:%.*s, newTodos:%.*s}",
		  STR_ARG(readable ? str_trim(buf_str(&old)) : STR("[]")), STR_ARG(list));
	buf_addstr(&call->result,
		   "The list was replaced. Keep it true while you work: one item in progress at a time, and each "
		   "one completed as soon as it is.");
	tool_call_end(call);
}

const struct tool tool_todo_write = { TOOL_TODO_WRITE_FACTS, .start = todo_write_start };
