/* SPDX-License-Identifier: MIT
 * memory.h - what an agent remembers from run to run: a directory of its own with MEMORY.md at its top, whose beginning is
 * part of the agent's prompt.
 *
 *   user     <config>/agent-memory/NAME             all projects of a user
 *   project  <project>/.claude/agent-memory/NAME    everybody who works on the project
 *   local    <project>/.claude/agent-memory-local/NAME
 *
 * NAME is the agent's type made fit for a path: it is one component whatever the type is.
 *
 * A snapshot carries user memory along with a project: <project>/.claude/agent-memory-snapshots/NAME holds .md files and
 * snapshot.json ({"updatedAt": time}). It fills an empty user memory; a memory that is there is never overwritten, but its
 * prompt says when the project has a newer snapshot than the one it has seen. What came from which snapshot is noted in
 * .snapshot-synced.json ({"syncedFrom": time}). Because a snapshot puts words into every later run of the agent, it counts
 * only in a folder that the user trusts. */
#pragma once
#include "defs/agentdef/definition.h"

enum { MEMORY_MOST_LINES = 200, MEMORY_MOST_BYTES = 25 * 1024 };

struct policy;
struct services;
struct settings;

struct memory_dirs {
	const char *config_dir, *project_dir; /* absolute */
	bool trusted;                         /* the project's folder: its snapshots may be used */
};

/* Off altogether by CLAUDE_CODE_DISABLE_AUTO_MEMORY or the setting autoMemoryEnabled: false. */
bool agent_memory_is_on(const struct services *sv, const struct policy *p);
/* believed: the user trusts the definition's source. The user's notes are no matter of a project: it would read those of other
 * projects, and write what they read. */
static inline bool agent_memory_allowed(const struct agent_definition *d, bool believed)
{
	return d->memory != MEMORY_NONE && (d->memory != MEMORY_USER || believed);
}

void agent_memory_name(struct buf *out, struct str type);
/* NULL if the agent has no memory. */
char *agent_memory_dir(struct arena *a, const struct agent_definition *d, const struct memory_dirs *dirs);
/* Makes the directory and fills it from a snapshot if it is empty. -ERR_DENIED if a link leads it out of its place. */
int agent_memory_prepare(const struct agent_definition *d, const struct memory_dirs *dirs, struct err *err);
/* Appends the memory section of the prompt: how to use it, then MEMORY.md's first lines. Nothing without a memory. */
void agent_memory_prompt(struct buf *out, const struct agent_definition *d, const struct memory_dirs *dirs);
/* That of the main conversation, if the settings want one or there is one already; project_dir: of its transcripts. */
const char *conversation_memory_dir(struct arena *a, const struct settings *settings, const char *project_dir);
void conversation_memory_prompt(struct buf *out, const char *dir);
/* Copies the .md files of the agent's user memory into the project's snapshot. ret_files: how many. */
int agent_memory_save_snapshot(const struct agent_definition *d, const struct memory_dirs *dirs, size_t *ret_files,
			       struct err *err);
