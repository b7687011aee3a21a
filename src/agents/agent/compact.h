/* SPDX-License-Identifier: MIT
 * compact.h - an agent's part in the compaction of its conversation (docs/internals/compact.md): hooks around it, and what it
 * must know beside the summary. */
#pragma once
#include "agents/agent/agent.h"

extern const struct compact_owner agent_compact_owner; /* of queries whose data is the agent */
void agent_drop_compact(struct agent *a); /* the turn is over: what hooks still say about it does not count */
