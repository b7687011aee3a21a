/* SPDX-License-Identifier: MIT
 * firing.h - what happens to agents, on its way to hooks: those of the session, then those of the agent itself. */
#pragma once
#include "guard/hook/hook.h"
#include "agents/agent/agent.h"

enum { MOST_STOP_BLOCKS = 8 }; /* in a row: then an agent stops, whatever its stop hooks say */

/* Of spec only event and subject count, and for tools the rule. Allocates nothing: fields are made only if it is true. */
bool agent_has_hooks(const struct agent *a, const struct hook_fire_spec *spec);
/* The sets and the context of spec are filled in here. done comes exactly once, later; the agent must be there then, or the
 * firing be cancelled and data not need it. */
struct hook_firing *agent_run_hooks(struct agent *a, struct hook_fire_spec *spec, hook_done_fn *done, void *data);
/* For an event that nobody waits for. What its hooks say to the user is said, by then perhaps without the agent. */
void agent_notify_hooks(struct agent *a, struct hook_fire_spec *spec);
void agent_tree_cancel_async_hooks(struct agent_tree *t); /* hooks that are still at it are ended; on_idle follows */

/* What hooks said that is not about their event: context for the model, messages and notes for the user, the end of the
 * turn. */
void agent_apply_hook_outcome(struct agent *a, const struct hook_outcome *outcome);
/* Only what is for the user */
void emit_hook_messages(struct agent_tree *t, const struct event_agent *who, const struct hook_outcome *outcome);
