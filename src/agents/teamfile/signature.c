/* SPDX-License-Identifier: MIT
 * signature.c - what is signed is a JSON array without blanks: a word, then msg_id, from, timestamp, text, summary, color and
 * from_plugin of the entry, null where there is none. */
#include "agents/teamfile/signature.h"
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include "lib/base/base64.h"

struct evp_pkey_st *lead_key_new(void)
{
	EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, NULL);
	EVP_PKEY *key = NULL;

	if (!maker || EVP_PKEY_keygen_init(maker) <= 0 || EVP_PKEY_keygen(maker, &key) <= 0)
		key = NULL;
	EVP_PKEY_CTX_free(maker);
	return key;
}

void lead_key_free(struct evp_pkey_st *key)
{
	EVP_PKEY_free(key);
}

void lead_key_add_public(struct buf *out, struct evp_pkey_st *key, int64_t now_ms)
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);

	buf_addf(out, "%" PRId64 ".", now_ms);
	if (n > 0)
		base64url_add(out, (struct str){ (char *)der, (size_t)n });
	OPENSSL_free(der);
}

void lead_key_sign(struct buf *out, struct evp_pkey_st *key, const struct inbox_entry *e, const char *time,
		   const char *color)
{
	AUTO_BUF struct buf text = { 0 };
	EVP_MD_CTX *signer = EVP_MD_CTX_new();
	unsigned char bytes[64];
	size_t n = sizeof bytes;

	json_addf(&text, "['claude-team-lead-entry-v1', '%s', '%s', '%s', '%.*s', ?'%.*s', '%s', null]", e->id, e->from,
		  time, STR_ARG(e->text), STR_ARG(e->summary), color);
	if (signer && EVP_DigestSignInit(signer, NULL, NULL, NULL, key) > 0 &&
	    EVP_DigestSign(signer, bytes, &n, (const unsigned char *)text.p, text.n) > 0)
		base64url_add(out, (struct str){ (char *)bytes, n });
	EVP_MD_CTX_free(signer);
}
