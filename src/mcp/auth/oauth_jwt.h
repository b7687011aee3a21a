/* SPDX-License-Identifier: MIT
 * oauth_jwt.h - a signed statement of a client about itself (RFC 7523). */
#pragma once
#include "lib/base/arena.h"

/* private_key is PEM: an elliptic key on P-256 signs with ES256, an RSA key with RS256. It is good for five minutes, once, for
 * the audience. *ret_jwt is in the arena. */
int oauth_jwt_client(struct arena *arena, const char *private_key, const char *client_id, const char *audience,
		     const char **ret_jwt, struct err *err);
