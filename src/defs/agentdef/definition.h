/* SPDX-License-Identifier: MIT
 * definition.h - the definition of an agent: the contents of one agent file, or of one entry of a settings file.
 *
 * To add a field: a member here, a row in definition.c, a row in docs/agents.md and in tests/unit/agentdef/test_fields.c. */
#pragma once
#include "lib/base/buf.h"
#include "config/catalog/definition.h"

enum agent_isolation { ISOLATION_NONE, ISOLATION_WORKTREE, ISOLATION_REMOTE };
enum agent_memory { MEMORY_NONE, MEMORY_USER, MEMORY_PROJECT, MEMORY_LOCAL };

/* name: agent type, given or the stem of the file. NULL: not given. */
struct agent_definition {
	DEFINITION_HEAD;
	bool name_given;
	const char *prompt; /* the body, line ends LF, trimmed */
	size_t prompt_len;  /* a body may hold NULs */
	struct name_list tools, disallowed_tools, skills, required_mcp_servers;
	const char *model;            /* verbatim */
	const char *effort;           /* "low".."max" after reading "normal" as medium, or an integer as text */
	const char *permission_mode;  /* a known mode's name */
	bool permission_mode_invalid; /* it was given but is unknown: the stricter of the parent's and default applies */
	const char *initial_prompt, *color, *reminder;
	int64_t max_turns;      /* 0: not given */
	int64_t compact_window; /* tokens at which its conversation is summed up at the latest; 0: not given */
	bool background, fork_context, omit_claude_md;
	enum agent_isolation isolation;
	enum agent_memory memory;
	const char *mcp_servers; /* JSON array of names and objects, normalised; NULL: none */
	const char *hooks;       /* JSON object in the form of settings, normalised; NULL: none */
};

extern const struct definition_format agent_format;

/* Never fails: what cannot be read is in ignored (no frontmatter or no description), refused and the diagnostics.
 * fallback_name: stem of the file. Returns a reference. text is any bytes. */
struct agent_definition *agent_from_markdown(enum definition_source source, const char *file, const char *fallback_name,
					     struct str text);
/* An entry of settings `agents` or --agents: {"description","prompt","tools",...}. */
struct agent_definition *agent_from_json(enum definition_source source, const char *file, const char *name,
					 const struct json *value);

static inline struct agent_definition *agent_ref(struct agent_definition *d)
{
	d->refs++;
	return d;
}

static inline void agent_unref(struct agent_definition *d)
{
	definition_unref(d ? &d->common : NULL);
}

/* Whether it is the name of a tool; case ignored. */
bool agent_tool_is_known(struct str name);
