/* SPDX-License-Identifier: MIT
 * policy.h - which servers the settings let count: deniedMcpServers, allowedMcpServers. Immutable.
 *
 * An entry is {"serverName": text}, {"serverCommand": [program, argument...]} or {"serverUrl": pattern}. What is denied by any
 * file is denied. If any file has a list of what is allowed, nothing else is: a program must be named by its command if a
 * command is in the lists at all, an address by a pattern if one is, otherwise the name is enough. Servers of a host's own
 * (MCP_SDK) start nothing and reach nothing, so they need no allowance. */
#pragma once
#include "config/settings/settings.h"
#include "lib/base/str.h"
#include "mcp/servers/server.h"

struct mcp_policy;

/* Borrows settings until return. -ERR_USAGE with file and line if an entry that
 * denies cannot be understood: what it forbids is not known. One that allows then allows nothing, and notes gets a line. */
int mcp_policy_new(const struct settings *settings, struct buf *notes, struct mcp_policy **ret_policy, struct err *err);
void mcp_policy_free(struct mcp_policy *p); /* NULL is allowed */
bool mcp_policy_allows(const struct mcp_policy *p, const struct mcp_server *server, struct buf *why); /* why: if not */

/* A pattern with "://" is compared part by part: scheme, host and port without their case, path and query; so a * for the
 * host never reaches into a path. User names in an address and the usual port do not count. A pattern without a path means
 * the root alone, but any path if its host ends with *. A pattern without "://" is compared with the whole address. */
bool policy_url_fits(struct str pattern, const char *url);
