/* SPDX-License-Identifier: MIT
 * signature.h - the lead's signature under entries of an inbox, as members of the current product check it: Ed25519, a key for each
 * member, whose public part the member gets when it is started (--lead-verify-key). */
#pragma once
#include "agents/teamfile/format.h"

struct evp_pkey_st *lead_key_new(void); /* returns owned; NULL: there is none here */
void lead_key_free(struct evp_pkey_st *key);
/* MILLISECONDS.KEY, for the command line */
void lead_key_add_public(struct buf *out, struct evp_pkey_st *key, int64_t now_ms);
/* The value of lead_sig */
void lead_key_sign(struct buf *out, struct evp_pkey_st *key, const struct inbox_entry *e, const char *time,
		   const char *color);
