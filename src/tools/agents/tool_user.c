/* SPDX-License-Identifier: MIT
 * tool_user.c - the tools that need the user: AskUserQuestion, EnterPlanMode and ExitPlanMode. The permission to run one of the last
 * two is the user's agreement, to plan first or to the plan (agents/agent/plan.h). */
#include "agents/member/lead.h"
#include "agents/agent/plan.h"
#include "agents/agent/question.h"
#include "agents/agent/tree.h"
#include "lib/json/json_write.h"
#include "core/tool/tool_list.h"

/* AskUserQuestion: from any agent, at any depth; it waits as a question of the agent. */

static void question_start(struct tool_call *call)
{
	/* Only a hook or the host may fill in answers, not the model that asks. */
	const struct json *answers = call->amended ? json_get(call->input, "answers") : NULL;

	if (answers)
		question_answer(call, answers);
	else if (!question_ask(call))
		tool_call_fail(
			call,
			"No user is present to answer. Assume the most likely answer, and say which one you assumed.");
}

static void question_cancel(struct tool_call *call)
{
	question_stop_wait(call);
	tool_call_fail(call, "The question was withdrawn before it was answered.");
}

const struct tool tool_ask_user_question = {
	TOOL_ASK_USER_QUESTION_FACTS,
	.start = question_start,
	.cancel = question_cancel,
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
	tool_call_end(call);
}

const struct tool tool_enter_plan_mode = { TOOL_ENTER_PLAN_MODE_FACTS, .start = enter_start };

/* A plan for the lead has an id: after a crash it is not sent twice. */
static unsigned exit_flags(const struct tool_call *call)
{
	const struct agent *a = call->env->owner;
	bool to_lead = a && a->record && a->record->member && a->record->member->plan_required &&
		       !a->tree->switches.user_plans;

	return tool_exit_plan_mode.flags | (to_lead ? TOOL_RESUMES : 0);
}

static void exit_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct json_out w = json_out(&call->result_json);

	if (lead_plan(call) || (a->tree->team_ops && a->tree->team_ops->plan(a, call)))
		return;
	if (!plan_present(a, call))
		return;
	if (a->record && a->record->member && a->record->member->plan_required) {
		struct err err = { 0 };
		a->record->member->plan_approved = true;
		if (meta_write(a->record, &err) < 0) { /* an approval counts only if it is on disk */
			a->record->member->plan_approved = false;
			tool_call_fail(call, "The approval could not be recorded: %s", err.text);
			return;
		}
	}
	plan_leave(a);
	json_open(&w, '{');
	json_kstr(&w, "plan", json_str(json_get(call->input, "plan"), &call->arena));
	json_putf(&w, "isAgent:!!%d, filePath:'%s'}", a->parent != NULL, plan_path(a));
	buf_addf(&call->result,
		 "The user approved the plan, and plan mode is over%s. The plan is kept in %s. Begin with it.",
		 permission_mode(&a->permission) == PERMISSION_ACCEPT_EDITS ? "; edits are accepted without asking"
									    : "",
		 plan_path(a));
	tool_call_end(call);
}

const struct tool tool_exit_plan_mode = {
	TOOL_EXIT_PLAN_MODE_FACTS,
	.start = exit_start,
	.cancel = lead_forget_call,
	.flags_for = exit_flags,
};
