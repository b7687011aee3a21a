/* SPDX-License-Identifier: MIT
 * oauth_token.h - a grant: tokens, their scopes, and what a refresh needs. */
#pragma once
#include "lib/base/arena.h"
#include "mcp/auth/oauth_client.h"

/* Sets of scopes, written with spaces between them. NULL is the empty set. */

bool oauth_scope_has(const char *scopes, struct str one);
bool oauth_scope_covers(const char *scopes, const char *wanted); /* all of wanted are in scopes */
/* The union, in the order of a, then b; NULL: empty. */
const char *oauth_scope_union(struct arena *arena, const char *a, const char *b);
const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one); /* NULL: empty */

struct oauth_token {
	const char *access;  /* NULL: none, only the client is known */
	const char *refresh; /* NULL: none */
	const char *scope;   /* granted scopes; NULL: unknown */
	int64_t expires_ms;  /* expiry, wall clock; 0: unknown */
	int64_t renew_ms;    /* time of refresh; 0: never */
};

/* A copied grant is immutable and owns its texts; one being assembled borrows them. */
struct oauth_grant {
	struct arena arena;
	const char *issuer, *token_url;
	const char *resource; /* NULL: not sent */
	const char *scope;    /* requested scope; NULL: none */
	struct oauth_client client;
	struct oauth_token token;
};

struct oauth_grant *oauth_grant_copy(const struct oauth_grant *g); /* returns owned */
void oauth_grant_free(struct oauth_grant *g);

/* Parses the answer of a token endpoint. asked: the scope, unless the answer has another; old_refresh is kept if the
 * answer has no new one; may be NULL. *ret_refused gets the OAuth error code ("invalid_grant"); may be NULL. All texts
 * are in the arena. -ERR_DENIED: refused; -ERR_PROTOCOL: not an answer of a token endpoint. */
int oauth_token_read(struct arena *arena, int status, struct str answer, const char *asked, const char *old_refresh,
		     struct oauth_token *ret_token, const char **ret_refused, struct err *err);

/* Grants on disk, one JSON file for all servers, mode 0600 (docs/internals/mcp_auth.md has its form). */
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
