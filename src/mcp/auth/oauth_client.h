/* SPDX-License-Identifier: MIT
 * oauth_client.h - our OAuth client: PKCE, registration, and authentication at the token endpoint (a secret, or a
 * signed JWT). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

/* Secrets and their challenges (RFC 7636, S256). */

char *oauth_secret(struct arena *arena);                             /* 43 random characters */
char *oauth_pkce_challenge(struct arena *arena, const char *secret); /* its SHA-256, base64url */

/* In order of preference for a client with a secret */
enum oauth_method { OAUTH_BASIC, OAUTH_POST, OAUTH_NONE, OAUTH_KEY };
extern const char *const oauth_method_words[];                          /* "client_secret_basic", ... */
bool oauth_method_find(struct str word, enum oauth_method *ret_method); /* false: unknown */

struct oauth_client {
	const char *id;
	const char *secret;      /* NULL: none */
	const char *private_key; /* PEM; NULL: none */
	enum oauth_method method;
	bool registered;    /* registered by us: can be repeated */
	unsigned port;      /* port of the registered redirect URI */
	int64_t expires_ms; /* expiry of the secret, wall clock; 0: never */
};

/* methods: 1 << enum oauth_method of the authorisation server; 0: not given. */
enum oauth_method oauth_client_method(const struct oauth_client *client, unsigned methods);
/* Adds the client authentication to the form; *ret_header gets an Authorization header in the arena, or NULL. */
int oauth_client_prove(const struct oauth_client *client, const char *issuer, struct arena *arena, struct buf *form,
		       const char **ret_header, struct err *err);

/* The body of a registration (RFC 7591). scope may be NULL. */
void oauth_register_write(struct buf *out, const char *redirect, unsigned methods, const char *scope);
/* Its answer; methods as above, for a server that does not name its choice. Texts are in the arena. */
int oauth_register_read(struct arena *arena, struct str answer, unsigned methods, struct oauth_client *ret_client,
			struct err *err);

/* A signed statement of a client about itself (RFC 7523). */

/* private_key is PEM: an elliptic key on P-256 signs with ES256, an RSA key with RS256. Valid for five minutes, once,
 * for the audience. *ret_jwt is in the arena. */
int oauth_jwt_client(struct arena *arena, const char *private_key, const char *client_id, const char *audience,
		     const char **ret_jwt, struct err *err);
