/* SPDX-License-Identifier: MIT
 * question.h - questions to the user: whether a call may run, and questions of agents, which are calls of AskUserQuestion
 * that wait. */
#pragma once
#include "lib/json/json_write.h"
#include "agents/agent/agent.h"

/* Describes a call for the user: its subject, then the other members of its input, a line each. A long member is cut, with
 * the number of missing bytes. */
void question_describe(struct tool_call *call, struct buf *out);
/* The member permission_suggestions: the rules for "always allow". */
void question_put_suggestions(struct json_out *w, const char *const *rules, size_t count);
/* The result for the model when the user denies the call; reason may be NULL. */
void question_refuse(const struct tool_call *call, const char *reason, struct buf *out);

/* Asks the host; false: no user can answer. The call stays open until one of the next two, or until the timeout of the
 * settings. Code that ends it otherwise stops the wait first. */
bool question_ask(struct tool_call *call);
void question_stop_wait(struct tool_call *call);
/* answers: {"the question": "the answer", ...}; what is not in it was not answered. */
void question_answer(struct tool_call *call, const struct json *answers);
void question_decline(struct tool_call *call); /* the user does not want to answer */
/* The open question with this call id, or NULL. */
struct tool_call *question_find(struct agent *a, const char *call_id);
