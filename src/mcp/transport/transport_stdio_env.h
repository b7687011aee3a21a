/* SPDX-License-Identifier: MIT
 * transport_stdio_env.h - the environment of a server that is a child process. */
#pragma once
#include "mcp/transport/transport.h"

/* What world gives (only the names that every program needs, with CLAUDE_CODE_MCP_ALLOWLIST_ENV on; no secrets for a server of
 * a project), the entries of the server, ours; of a name that comes twice the later one counts. NULL-terminated; lives in the arena or is borrowed from
 * world and server. */
const char *const *mcp_server_environment(const struct mcp_world *world, const struct mcp_server *server,
					  struct arena *arena);
