/* SPDX-License-Identifier: MIT
 * auth.h - OAuth 2.1 for one remote server: discovers the authorisation server, registers, gets tokens with PKCE,
 * stores them in a file of mode 0600, refreshes them, and requests more scopes when the server demands them.
 * docs/internals/mcp_auth.md.
 *
 * The transport asks for the header before each request and reports a challenge (401, or 403 with
 * insufficient_scope). */
#pragma once
#include "mcp/servers/server.h"

struct mcp_auth;

/* Borrows env and server, which outlive it. */
struct mcp_auth *mcp_auth_new(const struct mcp_env *env, const struct mcp_server *server);
void mcp_auth_free(struct mcp_auth *a); /* cancels the running flow; done is not called */

/* "Authorization: Bearer ...", or NULL. Borrowed until the next call of any function here. */
const char *mcp_auth_header(struct mcp_auth *a);
/* The token has expired or is about to: mcp_auth_challenge with status 0 refreshes it. */
bool mcp_auth_stale(const struct mcp_auth *a);

/* err NULL: try again with the new header. ERR_DENIED: the user is needed, or refused. */
typedef void mcp_auth_fn(void *data, const struct err *err);
/* status 401 or 403 with the WWW-Authenticate header of the answer (may be empty; several lines with a comma between),
 * or 0 to refresh. One flow at a time: a second challenge meanwhile gets the same result. done comes from the loop,
 * once, and may free a. A request that was refused with an older header only has to be sent again. A failed refresh (0)
 * keeps the token, which may still be valid. */
void mcp_auth_challenge(struct mcp_auth *a, int status, struct str www_authenticate, mcp_auth_fn *done, void *data);
