/* SPDX-License-Identifier: MIT
 * oauth_discovery.h - discovery of the authorisation server: the challenge in WWW-Authenticate (RFC 9110, RFC 6750),
 * its own metadata (RFC 9728) and that of its authorisation server (RFC 8414, OpenID Connect Discovery). */
#pragma once
#include "lib/base/arena.h"
#include "mcp/auth/oauth_client.h"

/* NULL: not given */
struct oauth_challenge {
	const char *metadata_url, *scope, *error;
};

/* Accepts any text. Of several challenges it reads the first Bearer one, of a repeated parameter the first value. The
 * texts are in the arena. */
struct oauth_challenge oauth_challenge_read(struct arena *arena, struct str header);

enum { OAUTH_CANDIDATES = 4, OAUTH_DOCUMENT_BYTES = 256 << 10 };

/* Candidate URLs of a document, in order */
struct oauth_candidates {
	const char *urls[OAUTH_CANDIDATES];
	size_t count;
};

/* given: the URL of the challenge, or NULL. */
int oauth_resource_candidates(struct arena *arena, const char *server_url, const char *given,
			      struct oauth_candidates *ret_candidates, struct err *err);
int oauth_issuer_candidates(struct arena *arena, const char *issuer, struct oauth_candidates *ret_candidates,
			    struct err *err);

struct oauth_resource {
	const char *resource, *issuer;
	const char *scopes; /* NULL: not given */
};

/* A document whose resource does not cover server_url is -ERR_DENIED. Texts are in the arena. */
int oauth_resource_read(struct arena *arena, struct str document, const char *server_url,
			struct oauth_resource *ret_resource, struct err *err);

struct oauth_issuer {
	const char *issuer;
	const char *authorize_url, *token_url, *register_url; /* NULL: there is none */
	const char *scopes;                                   /* NULL: not given */
	unsigned methods;                                     /* 1 << enum oauth_method; 0: not given */
	bool code_grant, client_credentials;                  /* resources it issues tokens for */
	bool client_documents;                                /* supports client ids that are metadata URLs */
	bool says_issuer;                                     /* its answers carry `iss` */
};

/* issuer: the required issuer, NULL: any. Every URL is checked (oauth_url_check). */
int oauth_issuer_read(struct arena *arena, struct str document, const char *issuer, bool loopback_allowed,
		      struct oauth_issuer *ret_issuer, struct err *err);
