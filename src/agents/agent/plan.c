/* SPDX-License-Identifier: MIT
 * plan.c - plan mode of an agent, and the file of its plan. */
#include "agents/agent/plan.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "agents/agent/tree.h"

enum { PLAN_MAX_BYTES = 200000 };

/* ---- the mode ---------------------------------------------------------------------------------------------------- */

bool plan_is_on(const struct agent *a)
{
	return permission_mode(&a->permission) == PERMISSION_PLAN;
}

void plan_enter(struct agent *a)
{
	a->plan.before = permission_mode(&a->permission);
	permission_choose_mode(&a->permission, PERMISSION_PLAN);
}

/* A child that only inherits plan mode does not get out of it here: plan_present() says so. */
void plan_leave(struct agent *a)
{
	if (a->plan.accept_edits)
		permission_choose_mode(&a->permission, PERMISSION_ACCEPT_EDITS);
	else if (a->parent)
		permission_inherit_mode(&a->permission);
	else
		permission_choose_mode(&a->permission, a->plan.before);
	a->plan.before = PERMISSION_DEFAULT;
	a->plan.accept_edits = false;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

const char *plan_path(struct agent *a)
{
	if (!a->plan.path)
		a->plan.path = arena_printf(&a->arena, "%s/%s%s%s.md", a->tree->plans_dir, a->tree->session_id,
					    a->parent ? "-" : "", a->parent ? a->who.id : "");
	return a->plan.path;
}

bool plan_read(struct agent *a, struct buf *out)
{
	return file_read(plan_path(a), PLAN_MAX_BYTES, out, NULL) == 0 && str_trim(buf_str(out)).n;
}

bool plan_present(struct agent *a, struct tool_call *call)
{
	struct str plan = json_str(json_get(call->input, "plan"), &call->arena);
	AUTO_BUF struct buf kept = { 0 };
	AUTO_BUF struct buf input = { 0 };
	struct json_out w = json_out(&input);
	struct err err = { 0 };

	if (!plan_is_on(a)) {
		tool_call_fail(call, "This agent is not in plan mode: there is nothing to leave. Go on with the work.");
		return false;
	}
	if (a->parent && permission_mode(&a->parent->permission) == PERMISSION_PLAN) {
		tool_call_fail(call, "The agent that started this one plans too: report the plan as your result.");
		return false;
	}
	if (str_trim(plan).n) {
		if (file_make_parents(plan_path(a), &err) == 0 && file_replace(plan_path(a), plan.p, plan.n, &err) == 0)
			return true;
		tool_call_fail(call, "The plan cannot be saved: %s", err.text);
		return false;
	}
	if (!plan_read(a, &kept)) {
		tool_call_fail(call, "There is no plan yet. Write it to %s, or give it as plan.", plan_path(a));
		return false;
	}
	/* The text of the file becomes the input, so that hooks and the user see it. */
	json_open(&w, '{');
	json_kstr(&w, "plan", buf_str(&kept));
	json_close(&w);
	return tool_call_set_input(call, buf_str(&input));
}

void plan_explain(struct agent *a, struct buf *out)
{
	buf_addf(
		out,
		"Plan mode is on: read, search and think, but change nothing. Edits and commands that write are refused "
		"until the user approves a plan. Write the plan to %s (the one file that may be written), then call "
		"ExitPlanMode, which shows it to the user and asks for approval.",
		plan_path(a));
}
