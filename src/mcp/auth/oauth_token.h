/* SPDX-License-Identifier: MIT
 * oauth_token.h - what an authorisation server gave us: tokens, their scopes, and all that is needed to renew them. */
#pragma once
#include "lib/base/arena.h"
#include "mcp/auth/oauth_client.h"

/* ---- sets of scopes, written with spaces between them. NULL is the empty set. ---- */

bool oauth_scope_has(const char *scopes, struct str one);
bool oauth_scope_covers(const char *scopes, const char *wanted); /* all of wanted are in scopes */
/* Both in the order of a, then b, each once; NULL: empty. */
const char *oauth_scope_union(struct arena *arena, const char *a, const char *b);
const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one); /* NULL: nothing is left */

/* ---- tokens and grants ---- */

struct oauth_token {
	const char *access;  /* NULL: none, only the client is known */
	const char *refresh; /* NULL: none */
	const char *scope;   /* that it has, as far as was said; NULL: not known */
	int64_t expires_ms;  /* by the wall clock; 0: not said */
	int64_t renew_ms;    /* from then on it should be renewed; 0: never */
};

/* A grant that was copied is immutable and owns its texts; one that is being put together borrows them. */
struct oauth_grant {
	struct arena arena;
	const char *issuer, *token_url;
	const char *resource; /* NULL: not sent */
	const char *scope;    /* that was asked for; NULL: none */
	struct oauth_client client;
	struct oauth_token token;
};

struct oauth_grant *oauth_grant_copy(const struct oauth_grant *g); /* returns owned */
void oauth_grant_free(struct oauth_grant *g);

/* The answer of a token endpoint. asked: the scope, should the answer not name another one; old_refresh stays valid if no new
 * one comes; may be NULL. *ret_refused gets the endpoint's word for why not ("invalid_grant"); may be NULL. All texts are in
 * the arena. -ERR_DENIED: refused; -ERR_PROTOCOL: not an answer of a token endpoint. */
int oauth_token_read(struct arena *arena, int status, struct str answer, const char *asked, const char *old_refresh,
		     struct oauth_token *ret_token, const char **ret_refused, struct err *err);
