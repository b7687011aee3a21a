/* SPDX-License-Identifier: MIT
 * oauth_client.h - the OAuth client that we are for an authorisation server: its secrets (PKCE), its registration, and how it
 * authenticates at the token endpoint (a secret, or a signed JWT). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

/* ---- secrets and their challenges (RFC 7636, S256) ---- */

char *oauth_secret(struct arena *arena);                             /* 43 characters that nobody can guess */
char *oauth_pkce_challenge(struct arena *arena, const char *secret); /* its SHA-256, base64url */

/* ---- the client ---- */

/* In the order in which we prefer them for a client that has a secret */
enum oauth_method { OAUTH_BASIC, OAUTH_POST, OAUTH_NONE, OAUTH_KEY };
const char *oauth_method_word(enum oauth_method method);                /* "client_secret_basic", ... */
bool oauth_method_find(struct str word, enum oauth_method *ret_method); /* false: none of ours */

struct oauth_client {
	const char *id;
	const char *secret;      /* NULL: none */
	const char *private_key; /* PEM; NULL: none */
	enum oauth_method method;
	bool registered;    /* by us, so it can be done again */
	unsigned port;      /* of the callback address that was registered */
	int64_t expires_ms; /* of the secret, by the wall clock; 0: never */
};

/* methods: 1 << enum oauth_method of the authorisation server; 0: it does not say. */
enum oauth_method oauth_client_method(const struct oauth_client *client, unsigned methods);
/* Adds to the form what proves who we are; *ret_header gets an Authorization header in the arena, or NULL. */
int oauth_client_prove(const struct oauth_client *client, const char *issuer, struct arena *arena, struct buf *form,
		       const char **ret_header, struct err *err);

/* The body of a registration (RFC 7591). scope may be NULL. */
void oauth_register_write(struct buf *out, const char *redirect, unsigned methods, const char *scope);
/* Its answer; methods as above, for a server that does not say which one it chose. Texts are in the arena. */
int oauth_register_read(struct arena *arena, struct str answer, unsigned methods, struct oauth_client *ret_client,
			struct err *err);

/* ---- a signed statement of a client about itself (RFC 7523) ---- */

/* private_key is PEM: an elliptic key on P-256 signs with ES256, an RSA key with RS256. It is good for five minutes, once, for
 * the audience. *ret_jwt is in the arena. */
int oauth_jwt_client(struct arena *arena, const char *private_key, const char *client_id, const char *audience,
		     const char **ret_jwt, struct err *err);
