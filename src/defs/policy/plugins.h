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
int app_plugins_dir(struct services *sv, struct arena *a, const char **ret_dir, struct err *err);
/* As the disk is now. Returns a reference. settings is borrowed until return. */
int app_plugins_find(struct services *sv, const struct settings *settings, struct plugin_list **ret_list,
		     struct err *err);
/* The same once for all sessions, as c->plugins: a change of enabledPlugins counts for the next runtime. Makes the data
 * directories of what is enabled. */
int app_plugins_open(struct services *sv, const struct settings *settings, struct err *err);

/* What enabled plugins bring. Everything is in the arena or borrowed from the list. */
const struct catalog_plugin *app_plugin_agents(const struct plugin_list *list, struct arena *a, size_t *ret_count);
const struct catalog_plugin *app_plugin_skills(const struct plugin_list *list, struct arena *a, size_t *ret_count);
/* Named plugin:PLUGIN:SERVER; each entry looks up the plugin's own variables before the environment. */
const struct mcp_entry *app_plugin_servers(const struct plugin_list *list, struct arena *a, size_t *ret_count);
/* `agent` of the first plugin that has one in its settings.json; NULL: none. */
const char *app_plugin_main_agent(const struct plugin_list *list);
/* Objects of hooks: how many, and all of them as sources, which borrow from the list. list may be NULL. */
size_t app_plugin_hook_count(const struct plugin_list *list);
void app_plugin_hooks(const struct plugin_list *list, struct hook_source *ret_sources);
/* strictPluginOnlyCustomization of managed settings: true, or an object or list that names this kind ("hooks", ...). */
bool app_plugins_only(const struct settings *settings, const char *kind);
/* PATH with the bin directories of plugins behind it; NULL: no plugin has one. */
const char *app_plugin_path(const struct plugin_list *list, struct arena *a, const char *path);
/* "plugins" and, if there are any, "plugin_errors" of the init frame. list may be NULL. */
void app_put_plugins(struct json_out *w, const struct plugin_list *list);
