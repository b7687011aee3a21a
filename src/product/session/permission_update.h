/* SPDX-License-Identifier: MIT
 * permission_update.h - changes of permissions that a hook or a host sends along with its yes:
 *
 *   {"type": "addRules"|"replaceRules"|"removeRules", "rules": [{"toolName", "ruleContent"?}], "behavior", "destination"}
 *   {"type": "setMode", "mode", "destination"}
 *   {"type": "addDirectories"|"removeDirectories", "directories": [...], "destination"}
 *
 * The destination is session (cliArg is the same), or the settings file of user, project or local. What goes into a file
 * holds for the session at once; what is taken out of one, from the next turn on. */
#pragma once
#include "lib/json/json.h"

struct agent_tree;
struct cadre_session;

void session_add_directory(struct cadre_session *s, const char *dir); /* absolute; copied; for the session alone */
/* updates: an array. An update that fails is reported to the user; the others are made. */
void session_update_permissions(struct agent_tree *t, const struct json *updates);
