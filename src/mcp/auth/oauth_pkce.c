/* SPDX-License-Identifier: MIT
 * oauth_pkce.c - random secrets and their challenges. */
#include "mcp/auth/oauth_pkce.h"
#include <openssl/evp.h>
#include <openssl/rand.h>
#include "lib/base/base64.h"

enum { SECRET_BYTES = 32, DIGEST_BYTES = 32 };

void oauth_base64url(struct buf *out, const void *p, size_t n)
{
	size_t from = out->n;

	base64_add(out, (struct str){ p, n });
	while (out->n > from && out->p[out->n - 1] == '=')
		out->n--;
	out->p[out->n] = '\0';
	for (size_t i = from; i < out->n; i++) {
		if (out->p[i] == '+')
			out->p[i] = '-';
		else if (out->p[i] == '/')
			out->p[i] = '_';
	}
}

static char *encoded(struct arena *arena, const unsigned char *p, size_t n)
{
	AUTO_BUF struct buf text = { 0 };

	oauth_base64url(&text, p, n);
	return arena_dup(arena, text.p, text.n);
}

char *oauth_secret(struct arena *arena)
{
	unsigned char bytes[SECRET_BYTES];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		abort(); /* without randomness there is no secret; going on would be worse */
	return encoded(arena, bytes, sizeof bytes);
}

char *oauth_pkce_challenge(struct arena *arena, const char *secret)
{
	unsigned char digest[DIGEST_BYTES];

	if (EVP_Digest(secret, strlen(secret), digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	return encoded(arena, digest, sizeof digest);
}
