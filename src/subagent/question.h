/* SPDX-License-Identifier: MIT
 * question.h - questions of agents to the user, as calls of the tool AskUserQuestion that wait. */
#pragma once
#include "subagent/actor.h"

/* Tells the host; false: nobody answers. The call stays open until question_answer(). */
bool question_ask(struct tool_call *call);
/* answers: {"the question": "the answer", ...}; what is not in it was not answered. */
void question_answer(struct tool_call *call, const struct json *answers);
/* The open question with this call id, or NULL. */
struct tool_call *question_find(struct actor *a, const char *call_id);
