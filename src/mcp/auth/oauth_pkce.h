/* SPDX-License-Identifier: MIT
 * oauth_pkce.h - random secrets and what is shown of them (RFC 7636, S256). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

void oauth_base64url(struct buf *out, const void *p, size_t n);      /* without '=' at the end */
char *oauth_secret(struct arena *arena);                             /* 43 characters that nobody can guess */
char *oauth_pkce_challenge(struct arena *arena, const char *secret); /* its SHA-256, base64url */
