/* SPDX-License-Identifier: MIT
 * limits.h - what a child was born under stays with it for life (docs/internals/subagent.md). */
#pragma once
#include "guard/permission/record.h"
#include "agents/agent/tree.h"

/* Of a new child of parent: into its record, for its meta file. A child of the main agent has no limits but its own. */
void limits_note(struct agent_record *t, const struct agent *parent);

struct limits {
	struct permission_line gone; /* ancestors that parent's line lacks */
	const char *root;            /* where the child began, in the record's arena; NULL: where its parent is */
};

/* For a child that goes on under parent. -ERR_DENIED: what it was born under cannot be read or not be given to it. */
int limits_restore(struct agent_record *t, const struct agent *parent, struct limits *ret_limits, struct err *err);
