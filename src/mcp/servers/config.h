/* SPDX-License-Identifier: MIT
 * config.h - all sources of server configuration, and which entries are used. docs/internals/mcp_config.md.
 *
 *     managed > flag > local > project > user > plugin
 *
 *     managed   MANAGED/managed-mcp.json; if it exists, nothing else is used
 *     flag      --mcp-config: JSON, or a file; of several the last one has precedence
 *     local     projects[CWD].mcpServers in the state file, then that of the repository's root
 *     project   .mcp.json in CWD and the directories above it up to the repository's root, the nearest first
 *     user      mcpServers in the state file
 *     plugin    from the caller; skipped if another entry has the same endpoint
 *
 * Of several allowed entries with one name the first is used, whole. */
#pragma once
#include "mcp/servers/server.h"
#include "config/settings/settings.h"
#include "lib/base/str.h"

/* Allowed servers: the settings deniedMcpServers and allowedMcpServers. Immutable.
 * 
 * An entry is {"serverName": text}, {"serverCommand": [program, argument...]} or {"serverUrl": pattern}. A deny entry
 * of any file applies. If any file has an allow list, only listed servers are allowed: by command if the lists have
 * command entries, by URL if they have URL entries, otherwise by name. SDK servers start no process and open no
 * connection, so they are always allowed. */
struct mcp_policy;

/* Borrows settings until return. -ERR_USAGE with file and line for an invalid deny entry. An invalid allow entry allows
 * nothing, and notes gets a line. */
int mcp_policy_new(const struct settings *settings, struct buf *notes, struct mcp_policy **ret_policy, struct err *err);
void mcp_policy_free(struct mcp_policy *p); /* NULL is allowed */
bool mcp_policy_allows(const struct mcp_policy *p, const struct mcp_server *server, struct buf *why); /* why: if not */

/* A pattern with "://" is compared by part: scheme, host and port (case-insensitive), path and query; so a * in the
 * host never matches a path. User names and default ports are ignored. A pattern without a path matches the root only,
 * but any path if its host ends with *. A pattern without "://" is compared with the whole URL. */
bool policy_url_fits(struct str pattern, const char *url);

enum mcp_standing {
	MCP_COUNTS,
	MCP_SHADOWED,   /* shadowed by a higher entry */
	MCP_UNAPPROVED, /* of a project; needs the user's approval */
	MCP_REFUSED,    /* invalid, or not allowed */
};
const char *mcp_standing_word(enum mcp_standing standing); /* "counts", "shadowed", "pending approval", "refused" */

/* One entry. Texts are in the arena of the configuration. */
struct mcp_item {
	struct mcp_server *server; /* reference; NULL: invalid */
	const char *name;
	enum mcp_scope scope;
	const char *file; /* "--mcp-config" for JSON on the command line; NULL: from a host or plugin without a file */
	unsigned line;
	struct str json; /* as written */
	const char *
		seal; /* of a project: what enabledMcpjsonServers gets beside the name when this very entry is approved */
	bool wishes;                /* its "sandbox" waits for approval */
	struct child_wishes wanted; /* until then */
	enum mcp_standing standing;
	const char *error_type;    /* a word of mcp_server_errors; NULL unless invalid */
	const char *reason;        /* why it is not used, for people; "" if it is */
	const struct mcp_item *by; /* the shadowing entry; NULL unless MCP_SHADOWED */
};

struct mcp_config {
	struct arena arena;
	struct mcp_item *items; /* the highest first */
	size_t count;
	struct mcp_policy *policy; /* owned */
	const char *managed_file;  /* exclusive; NULL: none */
	bool plugins_only;         /* managed: besides those, only servers of plugins */
	struct buf notes;          /* for the user, a line each */
	struct buf bad_files; /* files that only add servers and cannot be read, and why, a line each; also in notes */
};

/* All paths absolute; borrowed until return */
struct mcp_config_spec {
	const char *cwd, *state_file;
	const char *managed_dir;  /* NULL: none */
	const char *const *flags; /* values of --mcp-config */
	size_t flag_count;
	bool strict;                     /* only --mcp-config and managed servers */
	unsigned sources;                /* enum setting_sources: which of user, project and local count */
	const struct settings *settings; /* approvals and policies */
	bool interactive;                /* interactive: project servers wait for approval */
	const struct mcp_entry *plugins;
	size_t plugin_count;
	mcp_lookup_fn *lookup; /* variables for entries not from plugins; NULL: the environment */
	void *lookup_data;
};

/* A missing file has no servers, except one of --mcp-config, which is an error. An invalid file is -ERR_USAGE with
 * "FILE:LINE:COLUMN: what". An invalid entry becomes a refused item. Returns owned. */
int mcp_config_load(const struct mcp_config_spec *spec, struct mcp_config **ret_config, struct err *err);
void mcp_config_free(struct mcp_config *c); /* NULL is allowed */

/* The user's decision on an MCP_UNAPPROVED entry. Entries that it shadows are no longer used. */
void mcp_config_answer(struct mcp_config *c, const struct mcp_item *which, bool approved);

/* Whether a server from another source, such as an agent definition, may be used. -ERR_DENIED gives the reason. */
int mcp_config_admit(const struct mcp_config *c, const struct mcp_server *server, struct err *err);

/* Where the servers of a user and of a project are written. */

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

/* The highest first: local of cwd, local of its repository's root, .mcp.json from cwd upwards to that root, user. New
 * entries go to the first file of their scope. sources: enum setting_sources. The files need not exist. */
void mcp_locations_find(struct mcp_locations *ret_locations, struct arena *a, const char *cwd, const char *state_file,
			unsigned sources);
const struct mcp_location *mcp_locations_first(const struct mcp_locations *locations,
					       enum mcp_scope scope); /* NULL: none */

/* -ERR_USAGE with file and line for an invalid file. */
int mcp_location_has(const struct mcp_location *location, struct str name, bool *ret_has, struct err *err);
/* Sets the entry to json, one line, or removes it if json.p is NULL. All other bytes stay; the file is replaced
 * atomically under a lock. */
int mcp_location_set(const struct mcp_location *location, struct str name, struct str json, struct err *err);
