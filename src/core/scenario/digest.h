/* SPDX-License-Identifier: MIT
 * digest.h - a fast 64-bit hash for cache prefixes, signatures and ids: it runs over every request. Not
 * cryptographic. */
#pragma once
#include "lib/base/str.h"

uint64_t digest(uint64_t seed, struct str bytes);
uint64_t digest_mix(uint64_t a, uint64_t b);
uint64_t digest_random(uint64_t *state); /* the next number of a seeded sequence */

/* prefix and 24 letters and digits that depend on a and b; returns out. */
enum { DIGEST_ID_MAX = 48 };
const char *digest_id(char out[DIGEST_ID_MAX], const char *prefix, uint64_t a, uint64_t b);

/* Signatures of thinking blocks, which must be returned byte for byte. They do not depend on the scenario, so that a
 * session can continue with another one. */
enum { REDACTED_MAX = 2 * DIGEST_ID_MAX };

const char *signature_of(char out[DIGEST_ID_MAX], struct str model, struct str thinking);
/* How the ids of calls begin that stand behind thinking of this model */
enum { TOOL_MODEL_MAX = 16 };
const char *tool_model_prefix(char out[TOOL_MODEL_MAX], struct str model);
const char *redacted_make(char out[REDACTED_MAX], uint64_t a, uint64_t b);
bool redacted_is_ours(struct str data);
