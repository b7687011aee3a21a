/* SPDX-License-Identifier: MIT
 * env_file.h - shell lines that hooks leave for the commands of their session (CLAUDE_ENV_FILE). Each event that can leave
 * some has a file of its own in tree->env_dir, which begins anew whenever the event fires; every shell of every agent of
 * the session reads all of them first. They are gone with the session: its hooks run again when it is resumed. */
#pragma once
#include "guard/hook/event.h"
#include "agents/agent/tree.h"

/* Empties the event's file; its hooks may make it. NULL: it has none, or there is no place for one. In the arena. */
const char *env_file_begin(const struct agent_tree *t, enum hook_event event, struct arena *a);
void env_files_remove(const struct agent_tree *t);
