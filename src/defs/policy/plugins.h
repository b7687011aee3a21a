/* SPDX-License-Identifier: MIT
 * plugins.h - from the options and settings of a runtime to its plugins, and from those to what they bring. */
#pragma once
#include "defs/agentdef/registry.h"
#include "defs/policy/services.h"
#include "lib/json/json_write.h"
#include "mcp/servers/server.h"
#include "defs/plugin/list.h"
#include "defs/skill/registry.h"

/* Where plugins are kept: CLAUDE_CODE_PLUGIN_CACHE_DIR, or <config>/plugins. In the arena. */
int services_plugins_dir(struct services *sv, struct arena *a, const char **ret_dir, struct err *err);
/* As the disk is now. Returns a reference. settings is borrowed until return. */
int services_find_plugins(struct services *sv, const struct settings *settings, struct plugin_list **ret_list,
			  struct err *err);
/* The same once for all sessions, as sv->plugins: a change of enabledPlugins counts for the next runtime. Makes the data
 * directories of what is enabled. */
int services_open_plugins(struct services *sv, const struct settings *settings, struct err *err);

/* What enabled plugins bring to a catalog. Everything is in the arena or borrowed from the list. */
enum plugin_definitions { PLUGIN_AGENTS, PLUGIN_SKILLS /* and commands */, PLUGIN_STYLES };
const struct catalog_plugin *plugin_list_definitions(const struct plugin_list *list, enum plugin_definitions what,
						     struct arena *a, size_t *ret_count);
/* Named plugin:PLUGIN:SERVER; each entry looks up the plugin's own variables before the environment. */
const struct mcp_entry *plugin_list_servers(const struct plugin_list *list, struct arena *a, size_t *ret_count);
/* `agent` of the first plugin that has one in its settings.json; NULL: none. */
const char *plugin_list_main_agent(const struct plugin_list *list);
/* Objects of hooks: how many, and all of them as sources, which borrow from the list. list may be NULL. */
size_t plugin_list_hook_count(const struct plugin_list *list);
void plugin_list_hooks(const struct plugin_list *list, struct hook_source *ret_sources);
/* strictPluginOnlyCustomization of managed settings names this kind ("hooks", ...). */
bool policy_plugins_only(const struct settings *settings, const char *kind);
/* PATH with the bin directories of plugins behind it; NULL: no plugin has one. */
const char *plugin_list_path(const struct plugin_list *list, struct arena *a, const char *path);
/* "plugins" and, if there are any, "plugin_errors" of the init frame. list may be NULL. */
void plugin_list_put(struct json_out *w, const struct plugin_list *list);
