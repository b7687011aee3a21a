/* SPDX-License-Identifier: MIT
 * deferral.h - tools that an agent has and that its requests do not carry until the model asks for them: so many of them are
 * configured that their definitions would take a good part of the context (docs/internals/tool_search.md).
 *
 *     deferral_arrange --> known, all of it waits --deferral_want--> wanted --deferral_arrange--> loaded
 *
 * An agent owns one of these. Zeroed it is ready and nothing waits. */
#pragma once
#include "core/tool/tool.h"

/* When tools wait: ENABLE_TOOL_SEARCH */
struct deferral_policy {
	enum { DEFER_AUTO, DEFER_ALWAYS, DEFER_NEVER } when;
	unsigned percent; /* of the context that they may take before they wait; of DEFER_AUTO */
};

struct deferral {
	bool on;                /* once it is, it stays: what the model was told holds */
	struct tool_set known;  /* that may wait and that no rule forbids, in the order of the agent's tools */
	struct tool_set loaded; /* those of them that requests carry behind all other tools, in the order of asking */
	char **wanted;          /* owned names in the order of asking; one whose server is away keeps its place */
	size_t wanted_count;
};

/* "true", "false", "auto", "auto:N"; anything else, and NULL, is auto with 10 percent. */
struct deferral_policy deferral_policy_read(const char *text);
size_t deferral_bytes(const struct tool_set *tools); /* of the definitions that may wait */

/* Rebuilds what is known and loaded from the current tools. is_out (may be NULL): excludes a tool. */
void deferral_arrange(struct deferral *d, const struct tool_set *tools,
		      bool (*is_out)(void *data, const struct tool *tool), void *data);
/* It joins the loaded ones when they are next arranged. The name is copied; a second time does nothing. */
void deferral_want(struct deferral *d, const char *name);
bool deferral_has_news(const struct deferral *d); /* one that waits is wanted */
/* Known and not loaded: the model has not seen what its input looks like. d may be NULL. */
bool deferral_holds(const struct deferral *d, const struct tool *tool);
/* The definition of the tool that finds them, with their names in its description: loaded ones too, so that the bytes stay the
 * same while tools are loaded. At most 16 KB of names. */
void deferral_describe(struct buf *out, const struct deferral *d, const char *definition);
void deferral_release(struct deferral *d);
