/* SPDX-License-Identifier: MIT
 * signature.h - signatures of thinking blocks, which must be returned byte for byte. Not keyed by the scenario, so that
 * a session can continue with another one. */
#pragma once
#include "core/scenario/digest.h"

enum { REDACTED_MAX = 2 * DIGEST_ID_MAX };

const char *signature_of(char out[DIGEST_ID_MAX], struct str thinking);
const char *redacted_make(char out[REDACTED_MAX], uint64_t a, uint64_t b);
bool redacted_is_ours(struct str data);
