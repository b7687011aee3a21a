/* SPDX-License-Identifier: MIT
 * config_place.h - where the servers of a user and of a project are written down. */
#pragma once
#include "mcp/servers/server.h"

/* An object "mcpServers" in a file */
struct mcp_place {
	enum mcp_scope scope; /* local, project or user */
	const char *file;
	const char *folder; /* local: whose member of "projects"; NULL otherwise */
};

/* { 0 } is empty; texts and list are in the arena that was given */
struct mcp_places {
	struct mcp_place *list;
	size_t count;
};

/* The highest first: local of cwd, local of its repository's root, .mcp.json from cwd upwards to that root, user. What is
 * written anew goes to the first of its scope. sources: enum setting_sources. The files need not be there. */
void mcp_places_find(struct mcp_places *ret_places, struct arena *a, const char *cwd, const char *state_file,
		     unsigned sources);
const struct mcp_place *mcp_places_first(const struct mcp_places *places, enum mcp_scope scope); /* NULL: none */

/* -ERR_USAGE with file and line if the file is not what it should be. */
int mcp_place_has(const struct mcp_place *place, struct str name, bool *ret_has, struct err *err);
/* The entry becomes json, one line, or goes if json.p is NULL. All other bytes of the file stay; it is replaced whole or not
 * at all, and writers take turns. */
int mcp_place_set(const struct mcp_place *place, struct str name, struct str json, struct err *err);
