/* SPDX-License-Identifier: MIT
 * config_int.h - the steps of a load, in their order. */
#pragma once
#include "mcp/servers/config.h"
#include "mcp/servers/config_place.h"
#include "config/settings/settings_file.h"

/* config_read.c: every place in order of priority; items get server or error, standing is not decided. */
int config_read_all(struct mcp_config *c, const struct mcp_config_spec *spec, struct err *err);
/* config_decide.c: what counts. Needs c->policy. */
void config_decide_all(struct mcp_config *c, const struct mcp_config_spec *spec);
/* An object of entries in a file: the member mcpServers of container. NULL if there is none; -ERR_USAGE if it is no object. */
int config_servers(const struct settings_file *f, const struct json *container, const struct json **ret_map,
		   struct err *err);
/* The same for a place in the file that it names. */
int config_place_map(const struct mcp_place *place, const struct settings_file *f, const struct json **ret_map,
		     struct err *err);
