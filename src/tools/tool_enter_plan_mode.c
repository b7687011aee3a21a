/* SPDX-License-Identifier: MIT
 * tool_enter_plan_mode.c - EnterPlanMode: the permission to run it is the user's agreement to plan first. */
#include "agents/agent/plan.h"
#include "tools/tool_list.h"

static void enter_start(struct tool_call *call);

const struct tool tool_enter_plan_mode = {
	TOOL_ENTER_PLAN_MODE_FACTS,
	.start = enter_start,
};

static void enter_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;

	if (plan_is_on(a)) {
		tool_call_fail(call, "Plan mode is on already.");
		return;
	}
	plan_enter(a);
	plan_explain(a, &call->result);
	tool_call_end(call, false);
}
