/* SPDX-License-Identifier: MIT
 * hooks.h - the hooks of an agent's life: those of its definition, while it lives, and the start and stop events. */
#pragma once
#include "agents/agent/subagent.h"

/* Those of a definition: the agent's own from now on. notes: what keeps some of them from running, a line each. */
void agent_register_hooks(struct agent *a, const struct agent_definition *d, struct buf *notes);

/* Steps of life[] and ending[] */
int subagent_register_hooks(struct agent *a, struct err *err);
int subagent_unregister_hooks(struct agent *a, struct err *err);
int subagent_start_hooks(struct agent *a, struct err *err);
int subagent_undo_start_hooks(struct agent *a, struct err *err);
int subagent_obey_start_hooks(struct agent *a, struct err *err); /* one of them may forbid the agent */
int subagent_stop_hooks(struct agent *a, struct err *err);
