/* SPDX-License-Identifier: MIT
 * oauth_store.h - grants on disk, one JSON file for all servers, mode 0600 (docs/internals/mcp_auth.md has its form). */
#pragma once
#include "mcp/auth/oauth_token.h"

struct mcp_server;

/* The key of a server with this client configuration. In the arena. */
const char *oauth_store_key(struct arena *arena, const struct mcp_server *server);
/* *ret_grant is owned, or NULL: none stored. A missing file is empty. */
int oauth_store_get(const char *file, const char *key, struct oauth_grant **ret_grant, struct err *err);
/* Replaces the entry; all others stay. A file with an unknown format stays unchanged. If another process holds the lock of the
 * file, it is written later; q NULL: the lock is waited for, up to LOCK_WAIT_MS. */
struct change_queue;
int oauth_store_put(struct change_queue *q, const char *file, const char *key, const char *url,
		    const struct oauth_grant *grant, struct err *err);
