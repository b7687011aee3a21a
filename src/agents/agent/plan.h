/* SPDX-License-Identifier: MIT
 * plan.h - plan mode: an agent reads and thinks, and changes nothing but its plan until the user approves that.
 *
 *     started in it, or EnterPlanMode --> planning --ExitPlanMode, the user says yes--> the mode from before, or acceptEdits
 *                                            ^                         |
 *                                            +---- no, with a reason --+
 *
 * The plan is a file of the agent's own: the model writes it there, or gives it to ExitPlanMode, which does. */
#pragma once
#include "agents/agent/agent.h"

static inline bool plan_is_on(const struct agent *a)
{
	return permission_mode(&a->permission) == PERMISSION_PLAN;
}
static inline void plan_enter(struct agent *a)
{
	a->plan.before = permission_mode(&a->permission);
	permission_choose_mode(&a->permission, PERMISSION_PLAN);
}
/* The plan was approved. A child has its parent's mode then, unless edits are accepted. */
void plan_leave(struct agent *a);

/* The file of this agent's plan; its directory need not be there. The agent's arena. */
const char *plan_path(struct agent *a);
bool plan_read(struct agent *a, struct buf *out); /* false: there is none */
/* Makes the plan of an ExitPlanMode call complete before the user is asked: in its input and in the file. False: there is
 * nothing to approve, and the call has been answered. */
bool plan_present(struct agent *a, struct tool_call *call);
/* How to work in plan mode, for the model. */
void plan_explain(struct agent *a, struct buf *out);
