/* SPDX-License-Identifier: MIT
 * auth.h - OAuth 2.1 for one remote server: finds the authorisation server, registers, gets tokens with PKCE, keeps them in a
 * file of mode 0600, refreshes them, and asks again with more scopes when the server wants them. docs/internals/mcp_auth.md.
 *
 * The transport asks for the header before each request and reports a challenge (401, or 403 with insufficient_scope). */
#pragma once
#include "mcp/servers/server.h"
#include "mcp/servers/env.h"

struct mcp_auth;

/* Borrows env and server, which outlive it. */
struct mcp_auth *mcp_auth_new(const struct mcp_env *env, const struct mcp_server *server);
void mcp_auth_free(struct mcp_auth *a); /* cancels what runs; done is not called any more */

/* "Authorization: Bearer ...", or NULL: none is known. Borrowed until the next call of any function here. */
const char *mcp_auth_header(struct mcp_auth *a);
/* A token is known, but it is over or about to be: mcp_auth_challenge with status 0 refreshes it first. */
bool mcp_auth_stale(const struct mcp_auth *a);

/* err NULL: try again with the new header. Otherwise it cannot be had: ERR_DENIED if a person is needed or refused. */
typedef void mcp_auth_fn(void *data, const struct err *err);
/* status 401 or 403 with the WWW-Authenticate header of the answer (may be empty; several lines with a comma between), or 0 to
 * refresh. One at a time: a second challenge while one runs is told the same end. done comes from the loop, once, and may free
 * a. A request that was refused with another header than mcp_auth_header gives now has only to be sent again. A refresh (0)
 * that fails leaves the token as it is: it may still do. */
void mcp_auth_challenge(struct mcp_auth *a, int status, struct str www_authenticate, mcp_auth_fn *done, void *data);
