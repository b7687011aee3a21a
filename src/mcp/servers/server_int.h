/* SPDX-License-Identifier: MIT
 * server_int.h - what the files that read an entry share. */
#pragma once
#include "mcp/servers/server.h"

/* The text with ${NAME} and ${NAME:-default} replaced, in the arena; a default is not looked into again. A variable that is
 * neither set nor has a default keeps its place, and notes (may be NULL) gets a line that begins with place. */
const char *server_expand(struct arena *a, const struct mcp_entry *entry, const char *place, const char *text,
			  struct buf *notes);
/* In the arena of the server, whose other fields are complete. */
const char *server_key(struct mcp_server *s);
