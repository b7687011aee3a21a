/* SPDX-License-Identifier: MIT
 * deferral.h - deferred tools: definitions sent only after the model has searched for them, because all of them would fill
 * the context (docs/internals/tool_search.md).
 *
 *     deferral_arrange --> known, all deferred --deferral_want--> wanted --deferral_arrange--> loaded
 *
 * An agent owns one of these. A zeroed struct is ready and defers nothing. */
#pragma once
#include "core/tool/tool.h"

/* When tools are deferred: ENABLE_TOOL_SEARCH */
struct deferral_policy {
	enum { DEFER_AUTO, DEFER_ALWAYS, DEFER_NEVER } when;
	unsigned percent; /* of DEFER_AUTO: the part of the context that they may take before they are deferred */
};

struct deferral {
	bool on;                /* stays on: the model has been told about the search */
	struct tool_set known;  /* that may be deferred and that no rule forbids, in the order of the agent's tools */
	struct tool_set loaded; /* those of them that requests carry behind all other tools, in the order of requests */
	char **wanted;          /* owned names in the order of requests; kept while a server is not connected */
	size_t wanted_count;
};

/* "true", "false", "auto", "auto:N"; anything else, and NULL, is auto with 10 percent. */
struct deferral_policy deferral_policy_read(const char *text);
size_t deferral_bytes(const struct tool_set *tools); /* of the definitions that may be deferred */

/* Rebuilds what is known and loaded from the current tools. is_out (may be NULL): excludes a tool. */
void deferral_arrange(struct deferral *d, const struct tool_set *tools,
		      bool (*is_out)(void *data, const struct tool *tool), void *data);
/* The next deferral_arrange() loads it. The name is copied; a second time does nothing. */
void deferral_want(struct deferral *d, const char *name);
bool deferral_has_news(const struct deferral *d); /* a deferred tool is wanted */
/* Known and not loaded: the model has not seen its input schema. d may be NULL. */
bool deferral_holds(const struct deferral *d, const struct tool *tool);
/* The definition of the search tool, with the names of known tools in its description: loaded ones too, so that the bytes
 * stay the same while tools are loaded. At most 16 KB of names. */
void deferral_describe(struct buf *out, const struct deferral *d, const char *definition);
void deferral_release(struct deferral *d);
