/* SPDX-License-Identifier: MIT
 * tool_event.c - a tool call as hooks see it. */
#include "agents/agent/tool_event.h"
#include "lib/io/file.h"
#include "guard/permission/subject.h"
#include "agents/agent/plan.h"

/* The member that holds a path which must be made absolute, or NULL. */
static const char *relative_path(struct tool_call *call, struct str *ret_path)
{
	const struct subject *s = subject_find(str_from(call->tool->name));

	if (!s || (s->kind != SUBJECT_READ && s->kind != SUBJECT_EDIT))
		return NULL;
	const struct json *value = json_get(call->input, s->primary);
	*ret_path = json_str(value, &call->arena);
	return json_is(value, JSON_STRING) && !str_starts(*ret_path, STR("/")) ? s->primary : NULL;
}

static void put_with_path(struct json_out *w, struct tool_call *call, const char *member, struct str path)
{
	json_open(w, '{');
	for (struct json_member m = json_members(call->input); m.key; m = json_member_next(call->input, m)) {
		struct str name = json_str(m.key, &call->arena);
		json_key_str(w, name);
		if (str_is(name, member))
			json_put_cstr(w, path_absolute(&call->arena, call->env->cwd, path));
		else
			json_put_raw(w, json_raw(m.value));
	}
	json_close(w);
}

static void put_plan(struct json_out *w, struct agent *a, struct tool_call *call)
{
	AUTO_BUF struct buf kept = { 0 };
	struct str plan = json_str(json_get(call->input, "plan"), &call->arena);

	if (!str_trim(plan).n && plan_read(a, &kept))
		plan = buf_str(&kept);
	json_open(w, '{');
	json_kstr(w, "plan", plan);
	json_kcstr(w, "planFilePath", plan_path(a));
	json_close(w);
}

void tool_event_open(struct json_out *w, struct agent *a, struct tool_call *call)
{
	struct str path;
	const char *member = relative_path(call, &path);

	json_open(w, '{');
	json_kcstr(w, "tool_name", call->tool->name);
	json_key(w, "tool_input");
	if (call->flags & TOOL_ENDS_PLAN)
		put_plan(w, a, call);
	else if (member)
		put_with_path(w, call, member, path);
	else
		json_put_raw(w, json_raw(call->input));
}

bool tool_event_amend(struct tool_call *call, struct str json)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };
	struct json_out w = json_out(&input);
	const struct json *root;

	if (!(call->flags & TOOL_ENDS_PLAN) || json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return tool_call_set_input(call, json);
	json_open(&w, '{');
	json_kstr(&w, "plan", json_str(json_get(root, "plan"), &call->arena));
	json_close(&w);
	return tool_call_set_input(call, buf_str(&input));
}
