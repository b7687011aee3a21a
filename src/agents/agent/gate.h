/* SPDX-License-Identifier: MIT
 * gate.h - permission checks and hooks before and after each tool call of every agent:
 *
 *     PreToolUse hooks -> rules and mode -> PermissionRequest hooks -> a question -> the tool -> PostToolUse hooks
 *
 * A hook may refuse a call, change its input or allow it; deny and ask rules still apply. Calls that no model made go through
 * the same checks, with a policy (struct gate_policy). */
#pragma once
#include "agents/agent/agent.h"

void gate_init(struct tool_gate *gate);
/* For calls on behalf of an agent that are not among its own and have another environment: the checks before a call, and its
 * cancel. If a ends while hooks run, the call is denied. */
void gate_check(struct agent *a, struct tool_call *call);
void gate_cancel(struct tool_gate *gate, struct tool_call *call);
/* The call that waits for an answer of the user, or NULL. */
struct tool_call *agent_question(struct agent *a, const char *call_id);
/* allow, or deny with a reason for the model. */
void agent_answer_question(struct agent *a, struct tool_call *call, bool allow, struct str reason);
/* The decision of a hook or the host in place of the user: {"behavior":"allow","updatedInput":..} or {"behavior":"deny","message":..,
 * "interrupt":..}. Deny rules still apply. False: it is neither, and nothing has happened. */
bool agent_decide(struct agent *a, struct tool_call *call, const struct json *decision);
