/* SPDX-License-Identifier: MIT
 * list.h - all plugins of a run: which ones exist, which are enabled, and the problems of the others. Immutable,
 * shared by reference.
 *
 * The order is that of precedence: --plugin-dir, installed ones in the order of enabledPlugins, skills directories. Of two
 * enabled plugins with one name the first is used, because their agents and skills would have the same names. */
#pragma once
#include "defs/plugin/plugin.h"
#include "config/settings/settings.h"
#include "config/settings/trust.h"

/* A plugin of the command line or of a host */
struct plugin_given {
	const char *path; /* absolute; a directory or a .zip; or the address of one */
	bool no_mcp;      /* --plugin-dir-no-mcp */
	bool is_url;      /* --plugin-url */
};

/* A directory whose folders may be plugins */
struct plugin_skills_dir {
	const char *path;
	const char *needs_trust; /* folder that must be trusted by its own name; NULL: the user's own directory */
};

/* Everything is borrowed until return; paths are absolute. */
struct plugin_spec {
	const char *plugins_dir; /* <config>/plugins, or CLAUDE_CODE_PLUGIN_CACHE_DIR */
	const char *project_dir; /* ${CLAUDE_PROJECT_DIR} */
	const struct plugin_given *given;
	size_t given_count;
	const struct plugin_skills_dir *skills_dirs;
	size_t skills_dir_count;
	const struct settings *settings; /* NULL: none */
	const struct trust *trust;       /* NULL: nothing is trusted */
	bool bare;                       /* given ones only */
};

struct plugin_list {
	unsigned refs;
	struct arena arena;
	struct plugin **all; /* owned */
	size_t count, cap;
	const struct plugin **enabled; /* of all, in the order of precedence */
	size_t enabled_count;
};

/* Never fails: what is wrong with a plugin is in the plugin. Returns a reference. */
struct plugin_list *plugin_list_load(const struct plugin_spec *spec);
struct plugin_list *plugin_list_ref(struct plugin_list *list); /* keeps a reference, returns it; NULL is allowed */
void plugin_list_unref(struct plugin_list *list);
/* By id, or by name: then an enabled one is preferred. NULL: none. */
const struct plugin *plugin_list_find(const struct plugin_list *list, const char *name_or_id);
