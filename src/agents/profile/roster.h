/* SPDX-License-Identifier: MIT
 * roster.h - the list of agents that a main agent can call.
 *
 * One line a type: "- NAME: when to use it (Properties: access to current context; Tools: Read, Grep)". If all lines
 * together exceed the budget, descriptions and lists of tools are shortened, as little as possible; if that does not help,
 * types are listed by name, and in the end only as many as fit. A text that is not complete says how to see the rest. */
#pragma once
#include "defs/agentdef/registry.h"
#include "guard/permission/permission.h"

enum { ROSTER_BUDGET = 20000 }; /* bytes: about 5,000 tokens */

/* A rule that hides a file from Read holds whatever a project calls it. */
static inline bool definition_is_hidden(const struct tool_env *reader, const struct definition *d)
{
	return d->source == SOURCE_PROJECT && file_is_hidden(reader, d->file);
}

struct roster_spec {
	const struct tool_env *reader;  /* definitions that are hidden from it are left out; NULL: none are */
	size_t budget_bytes;            /* of the whole text; 0: ROSTER_BUDGET */
	const char *const *mcp_servers; /* that are connected and have tools, NULL-terminated; NULL: not known yet */
	struct str only;                /* "a, b" of Agent(a, b) in the caller's tools; p == NULL: all types */
	bool background_off;            /* run_in_background is not offered */
	bool one_at_a_time;             /* no advice to start several agents at once */
};

/* Appends nothing if there is no agent to call. */
void roster_write(struct buf *out, const struct catalog *r, const struct roster_spec *spec);
/* Not denied, not hidden, not left out by `only`, and every MCP server that it requires is there. */
bool roster_has(const struct catalog *r, const struct agent_definition *d, const struct roster_spec *spec);
/* "Read, Grep", "All tools except Edit", "All tools" or "None". */
void roster_tools(struct buf *out, const struct agent_definition *d);
