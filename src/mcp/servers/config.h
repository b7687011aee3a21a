/* SPDX-License-Identifier: MIT
 * config.h - all places where servers are configured, and which of them count. docs/internals/mcp_config.md.
 *
 *     managed > flag > local > project > user > plugin
 *
 *     managed   MANAGED/managed-mcp.json; if it is there, nothing else counts
 *     flag      --mcp-config: JSON, or a file; of several the last one goes first
 *     local     projects[CWD].mcpServers in the state file, then that of the repository's root
 *     project   .mcp.json in CWD and the directories above it up to the repository's root, the nearest first
 *     user      mcpServers in the state file
 *     plugin    as the caller gives them; one whose endpoint is there already does not count
 *
 * Of the entries with one name that may count, the first one does, whole. */
#pragma once
#include "mcp/servers/policy.h"
#include "mcp/servers/server.h"

enum mcp_standing {
	MCP_COUNTS,
	MCP_SHADOWED,   /* another one goes before it */
	MCP_UNAPPROVED, /* of a project; the user has to say yes first */
	MCP_REFUSED,    /* cannot be read, or is not allowed */
};
const char *mcp_standing_word(enum mcp_standing standing); /* "counts", "shadowed", "pending approval", "refused" */

/* One entry, wherever it stands. Texts are in the arena of the configuration. */
struct mcp_item {
	struct mcp_server *server; /* reference; NULL: it cannot be read */
	const char *name;
	enum mcp_scope scope;
	const char *file; /* "--mcp-config" for JSON on the command line; NULL: a host or plugin gave it without one */
	unsigned line;
	struct str json; /* as it is written */
	enum mcp_standing standing;
	const char *error_type;    /* a word of mcp_server_errors; NULL unless it cannot be read */
	const char *reason;        /* why it does not count, for people; "" if it does */
	const struct mcp_item *by; /* what shadows it; NULL unless MCP_SHADOWED */
};

struct mcp_config {
	struct arena arena;
	struct mcp_item *items; /* the highest first */
	size_t count;
	struct mcp_policy *policy; /* owned */
	const char *managed_file;  /* decides alone; NULL: there is none */
	bool plugins_only;         /* managed: besides those, only servers of plugins */
	struct buf notes;          /* for the user, a line each */
};

/* All paths absolute; borrowed until return */
struct mcp_config_spec {
	const char *cwd, *state_file;
	const char *managed_dir;  /* NULL: none */
	const char *const *flags; /* values of --mcp-config */
	size_t flag_count;
	bool strict;                     /* only those, and managed ones */
	unsigned sources;                /* enum setting_sources: which of user, project and local count */
	const struct settings *settings; /* approvals and policies */
	bool interactive;                /* a person can be asked: servers of a project wait for their approval */
	const struct mcp_entry *plugins;
	size_t plugin_count;
	mcp_lookup_fn *lookup; /* of variables in entries that are not a plugin's; NULL: the environment */
	void *lookup_data;
};

/* A file that is not there has no servers, but for one that --mcp-config names. A file that is not what it should be is
 * -ERR_USAGE with "FILE:LINE:COLUMN: what". A bad entry is no failure: it is an item that is refused. Returns owned. */
int mcp_config_load(const struct mcp_config_spec *spec, struct mcp_config **ret_config, struct err *err);
void mcp_config_free(struct mcp_config *c); /* NULL is allowed */

/* The user's word on one that is MCP_UNAPPROVED. What it shadows then does not count any more. */
void mcp_config_answer(struct mcp_config *c, const struct mcp_item *which, bool approved);

/* Whether a server from elsewhere, as from an agent's definition, may be used. -ERR_DENIED says why not. */
int mcp_config_admit(const struct mcp_config *c, const struct mcp_server *server, struct err *err);

/* ---- where the servers of a user and of a project are written ---- */

/* An object "mcpServers" in a file */
struct mcp_location {
	enum mcp_scope scope; /* local, project or user */
	const char *file;
	const char *folder; /* local: whose member of "projects"; NULL otherwise */
};

/* { 0 } is empty; texts and list are in the arena that was given */
struct mcp_locations {
	struct mcp_location *list;
	size_t count;
};

/* The highest first: local of cwd, local of its repository's root, .mcp.json from cwd upwards to that root, user. What is
 * written anew goes to the first of its scope. sources: enum setting_sources. The files need not be there. */
void mcp_locations_find(struct mcp_locations *ret_locations, struct arena *a, const char *cwd, const char *state_file,
			unsigned sources);
const struct mcp_location *mcp_locations_first(const struct mcp_locations *locations,
					       enum mcp_scope scope); /* NULL: none */

/* -ERR_USAGE with file and line if the file is not what it should be. */
int mcp_location_has(const struct mcp_location *location, struct str name, bool *ret_has, struct err *err);
/* The entry becomes json, one line, or goes if json.p is NULL. All other bytes of the file stay; it is replaced whole or not
 * at all, and writers take turns. */
int mcp_location_set(const struct mcp_location *location, struct str name, struct str json, struct err *err);
