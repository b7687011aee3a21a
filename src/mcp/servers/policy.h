/* SPDX-License-Identifier: MIT
 * policy.h - allowed servers: the settings deniedMcpServers and allowedMcpServers. Immutable.
 *
 * An entry is {"serverName": text}, {"serverCommand": [program, argument...]} or {"serverUrl": pattern}. A deny entry
 * of any file applies. If any file has an allow list, only listed servers are allowed: by command if the lists have
 * command entries, by URL if they have URL entries, otherwise by name. SDK servers start no process and open no
 * connection, so they are always allowed. */
#pragma once
#include "config/settings/settings.h"
#include "lib/base/str.h"
#include "mcp/servers/server.h"

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
