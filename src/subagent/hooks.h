/* SPDX-License-Identifier: MIT
 * hooks.h - the hooks of an agent's life: those of its definition, while it lives, and the start and stop events. */
#pragma once
#include "subagent/subagent.h"

/* Steps of life[] and ending[] */
int subagent_register_hooks(struct subagent *s, struct err *err);
int subagent_unregister_hooks(struct subagent *s, struct err *err);
int subagent_start_hooks(struct subagent *s, struct err *err);
int subagent_stop_hooks(struct subagent *s, struct err *err);
/* What hooks said that is not about their event: context for the model, messages and notes for the user, the end of the
 * turn. */
void actor_hear_hooks(struct actor *a, const struct hook_outcome *outcome);
/* Who an agent is, for the input of its hooks. */
void actor_hook_context(const struct actor *a, struct hook_context *ret);
