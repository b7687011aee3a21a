/* SPDX-License-Identifier: MIT
 * mcp_config.h - from the options of a runtime to its MCP servers. */
#pragma once
#include "defs/policy/services.h"
#include "mcp/servers/config.h"

/* As the disk is now. Borrows settings and plugins (NULL: none) until return. Returns owned; -ERR_USAGE names file and line. */
int app_mcp_config(struct services *sv, const struct settings *settings, const struct plugin_list *plugins,
		   struct mcp_config **ret_config, struct err *err);
/* The same with settings, trust and plugins as they are now, for commands without a session. */
int app_mcp_look(struct services *sv, struct mcp_config **ret_config, struct err *err);
/* The one of that name that counts, else the highest that does not; NULL: no such server. */
const struct mcp_item *app_mcp_item(const struct mcp_config *config, const char *name);
/* Where the options let a user's servers stand; in the arena. */
int app_mcp_locations(struct services *sv, struct arena *a, struct mcp_locations *ret_places, struct err *err);
