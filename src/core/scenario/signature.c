/* SPDX-License-Identifier: MIT
 * signature.c - signatures of thinking text and self-checking redacted data. */
#include "core/scenario/signature.h"

enum { SALT_THINKING = 11, SALT_REDACTED = 13 };

const char *signature_of(char out[DIGEST_ID_MAX], struct str thinking)
{
	return digest_id(out, "sig_", digest(SALT_THINKING, thinking), thinking.n);
}

/* Random letters, then a check over them. */
const char *redacted_make(char out[REDACTED_MAX], uint64_t a, uint64_t b)
{
	digest_id(out, "redacted_", a, b);
	struct str random = str_from(out);
	digest_id(out + random.n, "_", digest(SALT_REDACTED, random), random.n);
	return out;
}

bool redacted_is_ours(struct str data)
{
	const char *split = data.n ? memrchr(data.p, '_', data.n) : NULL;
	char check[DIGEST_ID_MAX];

	if (!split)
		return false;
	struct str random = { data.p, (size_t)(split - data.p) };
	struct str rest = { split, data.n - random.n };
	return str_is(rest, digest_id(check, "_", digest(SALT_REDACTED, random), random.n));
}
