/* SPDX-License-Identifier: MIT
 * tool_exit_plan_mode.c - ExitPlanMode: the permission to run it is the approval of the plan (agents/agent/plan.h). */
#include "lib/json/json_write.h"
#include "agents/agent/plan.h"
#include "tools/tool_list.h"

static void exit_start(struct tool_call *call);

const struct tool tool_exit_plan_mode = {
	TOOL_EXIT_PLAN_MODE_FACTS,
	.start = exit_start,
};

static void exit_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct json_out w = json_out(&call->result_json);

	if (!plan_present(a, call))
		return;
	plan_leave(a);
	json_open(&w, '{');
	json_kstr(&w, "plan", json_str(json_get(call->input, "plan"), &call->arena));
	json_kbool(&w, "isAgent", a->parent != NULL);
	json_kcstr(&w, "filePath", plan_path(a));
	json_close(&w);
	buf_addf(&call->result,
		 "The user approved the plan, and plan mode is over%s. The plan is kept in %s. Begin with it.",
		 permission_mode(&a->permission) == PERMISSION_ACCEPT_EDITS ? "; edits are accepted without asking"
									    : "",
		 plan_path(a));
	tool_call_end(call, false);
}
