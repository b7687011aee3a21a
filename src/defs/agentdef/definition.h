/* SPDX-License-Identifier: MIT
 * definition.h - what an agent is: the meaning of one agent file, or of one entry of a settings file. Immutable once made,
 * shared by reference. Reading is forgiving where a file is untidy and strict where forgiveness would widen what the
 * agent may do; everything that was forgiven or refused is a diagnostic. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "config/catalog/diagnostic.h"
#include "config/catalog/name_list.h"

/* Lowest priority first */
enum agent_source {
	AGENT_BUILT_IN,
	AGENT_PLUGIN,
	AGENT_USER,
	AGENT_PROJECT,
	AGENT_FLAG,
	AGENT_POLICY,
	AGENT_SOURCE_COUNT
};

enum agent_isolation { ISOLATION_NONE, ISOLATION_WORKTREE, ISOLATION_REMOTE };
enum agent_memory { MEMORY_NONE, MEMORY_USER, MEMORY_PROJECT, MEMORY_LOCAL };

/* Texts are in the arena; NULL: not given */
struct agent_definition {
	unsigned refs;
	struct arena arena;
	enum agent_source source;
	const char *file;   /* path, or "settings.json#agents.NAME", or "built-in" */
	const char *plugin; /* name of the plugin it comes from */
	const char *name;   /* agent type: given, or the stem of the file */
	bool name_given;
	const char *description; /* when to use it */
	const char *prompt;      /* the body, line ends LF, trimmed */
	size_t prompt_len;       /* a body may hold NULs */
	struct name_list tools, disallowed_tools, skills, required_mcp_servers;
	const char *model;            /* verbatim */
	const char *effort;           /* "low".."max" after reading "normal" as medium, or an integer as text */
	const char *permission_mode;  /* a known mode's name */
	bool permission_mode_invalid; /* it was given but is none: the stricter of the parent's and default applies */
	const char *initial_prompt, *color, *reminder;
	int64_t max_turns;      /* 0: not given */
	int64_t compact_window; /* tokens at which its conversation is summed up at the latest; 0: not given */
	bool background, fork_context, omit_claude_md;
	enum agent_isolation isolation;
	enum agent_memory memory;
	const char *mcp_servers; /* JSON array of names and objects, normalised; NULL: none */
	const char *hooks;       /* JSON object in the form of settings, normalised; NULL: none */
	struct {
		const char *field;
		unsigned line;
	} * fields; /* where each known field was found; for `agents show` */
	size_t field_count;
	struct diagnostic *diagnostics;
	size_t diagnostic_count;
	bool is_agent; /* false: no frontmatter or no description: skipped, not wrong */
	bool refused;  /* it is an agent file, but may not be loaded: a restriction could not be read */
};

/* Never fails: what cannot be read is in is_agent, refused and the diagnostics. fallback_name: stem of the file. Returns
 * a reference. text is any bytes. */
struct agent_definition *agent_from_markdown(enum agent_source source, const char *file, const char *fallback_name,
					     struct str text);
/* An entry of settings `agents` or --agents: {"description","prompt","tools",...}. */
struct agent_definition *agent_from_json(enum agent_source source, const char *file, const char *name,
					 const struct json *value);
struct agent_definition *agent_ref(struct agent_definition *d);
void agent_unref(struct agent_definition *d);

/* Known names of tools for the report of unknown ones; case ignored. Matches are by exact name before any other. */
bool agent_tool_is_known(struct str name);
