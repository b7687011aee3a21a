/* SPDX-License-Identifier: MIT
 * sources.h - from the options of a runtime to the files that count: settings, agents, state. */
#pragma once
#include "config/settings/settings.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/services.h"
#include "mcp/servers/config.h"

/* All texts are in the arena. */
int services_settings_spec(struct services *sv, struct arena *a, struct settings_spec *ret_spec, struct err *err);
int services_settings(struct services *sv, struct settings **ret_settings, struct err *err); /* returns a reference */
typedef void settings_warn_fn(void *data, const char *message);
/* A line each: values that are held, left out or without effect. warn may be NULL. */
void policy_warn_settings(const struct settings *s, settings_warn_fn *warn, void *data);
/* What is wrong with the hooks of the settings files, one message each with file and line. */
void policy_warn_hooks(const struct settings *s, settings_warn_fn *warn, void *data);
int services_state_file(struct services *sv, struct arena *a, const char **ret_path,
			struct err *err); /* .claude.json */
/* enum setting_sources: whose files count, also those of instructions, agents and skills */
unsigned services_setting_sources(const struct services *sv);
int services_agent_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err);
/* Links of a project that is not trusted stay inside of it. */
void catalog_sources_hold(struct catalog_sources *sources, struct arena *a, const struct settings *settings);
/* Whether main agents coordinate workers: a session that is resumed stays what it was. */
bool policy_coordinates(const struct services *sv);
/* Where project files are looked for: --project-config-root, else the repository of cwd, else cwd. In the arena, or cwd. */
const char *services_project_dir(const struct services *sv, struct arena *a, const char *cwd);
/* Whether the user trusts the author of a definition: a repository in the project is another project. */
bool services_believe(const struct settings *settings, const struct definition *d);
int services_agents(struct services *sv, struct arena *a, struct catalog **ret_registry, struct err *err);

/* From the options of a runtime to its MCP servers. */

/* As the disk is now. Borrows settings and plugins (NULL: none) until return. Returns owned; -ERR_USAGE names file and line. */
int services_mcp_config(struct services *sv, const struct settings *settings, const struct plugin_list *plugins,
			struct mcp_config **ret_config, struct err *err);
/* The same with settings, trust and plugins as they are now, for commands without a session. */
int services_mcp_look(struct services *sv, struct mcp_config **ret_config, struct err *err);
/* The one of that name that counts, else the highest that does not; NULL: no such server. */
const struct mcp_item *mcp_config_item(const struct mcp_config *config, const char *name);
/* Where the options let a user's servers stand; in the arena. */
int services_mcp_locations(struct services *sv, struct arena *a, struct mcp_locations *ret_locations, struct err *err);
/* A file of a project that is not trusted may be a link to one of the user's own: what is said about the project is not for that. */
int settings_check_target(const struct settings_spec *files, const char *path, struct err *err);
int services_check_target(struct services *sv, const char *path, struct err *err); /* for the folder of a command */
