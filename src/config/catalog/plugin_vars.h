/* SPDX-License-Identifier: MIT
 * plugin_vars.h - the places and options that texts of a plugin may name: one reader for skills, agents, hooks and servers. */
#pragma once
#include "lib/base/buf.h"

/* Borrowed; NULL: has no value */
struct plugin_vars {
	const char *root, *data, *project;
	const char *const *options; /* the user's, "KEY=value", NULL-terminated */
};

/* Of CLAUDE_PLUGIN_ROOT, CLAUDE_PLUGIN_DATA, CLAUDE_PROJECT_DIR and, with options, user_config.KEY. NULL: none. */
const char *plugin_vars_find(const struct plugin_vars *vars, struct str name, bool with_options);
/* Adds text with ${NAME} replaced where NAME has a value; everything else stays as it is. */
void plugin_vars_expand(struct buf *out, struct str text, const struct plugin_vars *vars, bool with_options);
