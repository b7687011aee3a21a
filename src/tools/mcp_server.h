/* SPDX-License-Identifier: MIT
 * mcp_server.h - the server that a call names, for the tools about resources. */
#pragma once
#include "mcp/set.h"

/* The link of the agent by that name. NULL: the call has been answered with an error that says which names there are. */
struct mcp_link *mcp_server_of_call(struct tool_call *call, struct str name);
