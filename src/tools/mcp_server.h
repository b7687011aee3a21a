/* SPDX-License-Identifier: MIT
 * mcp_server.h - the server that a call names, for the tools about resources. */
#pragma once
#include "lib/json/json_write.h"
#include "mcp/client/selection.h"

/* The link of the agent by that name. NULL: the call has been answered with an error that says which names there are. */
struct mcp_lease *mcp_server_of_call(struct tool_call *call, struct str name);
/* A resource or a template as the server listed it, and from which server it is. a: for as long as the text is written. */
void mcp_put_listed(struct json_out *w, struct str json, const struct mcp_lease *link, struct arena *a);
