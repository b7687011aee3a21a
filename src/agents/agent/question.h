/* SPDX-License-Identifier: MIT
 * question.h - what a person is asked: whether a call may run, and questions of agents, which are calls of AskUserQuestion
 * that wait. */
#pragma once
#include "lib/json/json_write.h"
#include "agents/agent/agent.h"

/* All that a call wants to do, for who decides about it: its subject, then the other members of its input a line each. What
 * is too long to be read is cut, and it is said how much is missing. */
void question_describe(struct tool_call *call, struct buf *out);
/* The member permission_suggestions: how "always" would be said. */
void question_put_suggestions(struct json_out *w, const char *const *rules, size_t count);
/* What the model is told when the user says no; reason may be NULL. */
void question_refuse(const struct tool_call *call, const char *reason, struct buf *out);

/* Tells the host; false: nobody answers. The call stays open until one of the next two, or until the time that the settings
 * give is over. Who ends it otherwise stops the wait first. */
bool question_ask(struct tool_call *call);
void question_stop_wait(struct tool_call *call);
/* answers: {"the question": "the answer", ...}; what is not in it was not answered. */
void question_answer(struct tool_call *call, const struct json *answers);
void question_decline(struct tool_call *call); /* the user does not want to answer */
/* The open question with this call id, or NULL. */
struct tool_call *question_find(struct agent *a, const char *call_id);
