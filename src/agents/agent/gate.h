/* SPDX-License-Identifier: MIT
 * gate.h - what stands around every tool call of every agent, in one place:
 *
 *     PreToolUse hooks -> rules and mode -> PermissionRequest hooks -> a question -> the tool -> PostToolUse hooks
 *
 * A hook may refuse, change the input or vouch for a call; deny and ask rules hold whatever it says. Calls that no model made take
 * the same way, with a policy (struct gate_policy). */
#pragma once
#include "agents/agent/agent.h"

void gate_init(struct tool_gate *gate);
/* For a gate of calls in the name of an agent that are not among its own, and whose environment is not the agent's: what stands
 * before a call, and its cancel. a may end while hooks look at the call: then it is denied. */
void gate_check(struct agent *a, struct tool_call *call);
void gate_cancel(struct tool_gate *gate, struct tool_call *call);
/* The call that this agent asks about, or NULL; for who answers. */
struct tool_call *agent_question(struct agent *a, const char *call_id);
/* allow, or deny with a reason for the model. */
void agent_answer_question(struct agent *a, struct tool_call *call, bool allow, struct str reason);
/* What somebody decided in place of a person: {"behavior":"allow","updatedInput":..} or {"behavior":"deny","message":..,
 * "interrupt":..}. What is forbidden stays forbidden. False: it is neither, and nothing has happened. */
bool agent_decide(struct agent *a, struct tool_call *call, const struct json *decision);
