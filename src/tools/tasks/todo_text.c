/* SPDX-License-Identifier: MIT
 * todo_text.c - an item of the task list as the text of its file, which other programs write too. */
#include "tools/tasks/todo_list.h"
#include "lib/json/json.h"

static const char *const status_names[] = {
	[TODO_PENDING] = "pending",
	[TODO_IN_PROGRESS] = "in_progress",
	[TODO_COMPLETED] = "completed",
};

const char *todo_status_name(enum todo_status status)
{
	return status_names[status];
}

bool todo_status_find(struct str name, enum todo_status *ret_status)
{
	for (size_t i = 0; i < COUNT_OF(status_names); i++) {
		if (!str_is(name, status_names[i]))
			continue;
		*ret_status = (enum todo_status)i;
		return true;
	}
	return false;
}

bool todo_read_id(struct str text, unsigned *ret_id)
{
	uint64_t id;

	if (!str_to_u64(text, &id) || id < 1 || id > INT32_MAX)
		return false;
	*ret_id = (unsigned)id;
	return true;
}

bool todo_add_id(struct arena *a, struct todo_ids *ids, unsigned id)
{
	for (size_t i = 0; i < ids->count; i++)
		if (ids->ids[i] == id)
			return false;
	unsigned *more = arena_alloc(a, (ids->count + 1) * sizeof *more);
	if (ids->count)
		memcpy(more, ids->ids, ids->count * sizeof *more);
	more[ids->count++] = id;
	ids->ids = more;
	return true;
}

static void read_ids(struct arena *a, const struct json *list, struct todo_ids *ret)
{
	unsigned id;

	if (!json_is(list, JSON_ARRAY))
		return;
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (todo_read_id(json_str(v, a), &id))
			todo_add_id(a, ret, id);
}

bool todo_read_text(struct str text, unsigned id, struct arena *a, struct todo *ret)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_ITEM, .depth = 64 } };
	const struct json *root;

	if (json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return false;
	*ret = (struct todo){ .id = id,
			      .is_read = true,
			      .subject = json_cstr(json_get(root, "subject"), a),
			      .description = json_cstr(json_get(root, "description"), a),
			      .active_form = json_cstr(json_get(root, "activeForm"), a),
			      .owner = json_cstr(json_get(root, "owner"), a) };
	if (!ret->subject || !todo_status_find(json_str(json_get(root, "status"), a), &ret->status))
		return false;
	if (!ret->description)
		ret->description = "";
	read_ids(a, json_get(root, "blocks"), &ret->blocks);
	read_ids(a, json_get(root, "blockedBy"), &ret->blocked_by);
	const struct json *metadata = json_get(root, "metadata");
	if (json_is(metadata, JSON_OBJECT))
		ret->metadata = arena_str(a, json_raw(metadata));
	return true;
}

void todo_put_ids(struct json_out *w, const char *key, const struct todo_ids *ids, struct todo_list *open_in)
{
	json_kopen(w, key, '[');
	for (size_t i = 0; i < ids->count; i++)
		if (!open_in || todo_is_open(open_in, ids->ids[i]))
			json_putf(w, "'%u'", ids->ids[i]);
	json_close(w);
}

void todo_put(struct json_out *w, const struct todo *t, bool whole)
{
	json_putf(w, "{id:'%u', subject:'%s', description:'%s', activeForm?:'%s', owner?:'%s', status:'%s'", t->id,
		  t->subject, t->description, whole ? t->active_form : NULL, whole ? t->owner : NULL,
		  todo_status_name(t->status));
	todo_put_ids(w, "blocks", &t->blocks, NULL);
	todo_put_ids(w, "blockedBy", &t->blocked_by, NULL);
	json_putf(w, "metadata?:%.*s}", STR_ARG(whole ? t->metadata : STR("")));
}
