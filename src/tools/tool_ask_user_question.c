/* SPDX-License-Identifier: MIT
 * tool_ask_user_question.c - AskUserQuestion: a question from any agent, at any depth, to the person at the terminal. It
 * waits as a question of the agent (agents/agent/question.h) until somebody answers. */
#include "agents/agent/question.h"
#include "tools/tool_list.h"

static void question_start(struct tool_call *call);
static void question_cancel(struct tool_call *call);

const struct tool tool_ask_user_question = {
	TOOL_ASK_USER_QUESTION_FACTS,
	.start = question_start,
	.cancel = question_cancel,
};

static void question_start(struct tool_call *call)
{
	/* A model that answers its own questions is not heard: only a hook or the host may fill them in. */
	const struct json *answers = call->amended ? json_get(call->input, "answers") : NULL;

	if (answers)
		question_answer(call, answers);
	else if (!question_ask(call))
		tool_call_fail(call,
			       "Nobody is there to answer. Take the most likely answer, and say which one you took.");
}

static void question_cancel(struct tool_call *call)
{
	tool_call_fail(call, "The question was withdrawn before it was answered.");
}
