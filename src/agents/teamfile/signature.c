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

/* With - and _ and without padding, as in addresses */
static void add_url_base64(struct buf *out, const unsigned char *bytes, size_t n)
{
	size_t from = out->n;

	base64_add(out, (struct str){ (const char *)bytes, n });
	while (out->n > from && out->p[out->n - 1] == '=')
		out->p[--out->n] = '\0';
	for (size_t i = from; i < out->n; i++)
		out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
}

void lead_key_add_public(struct buf *out, struct evp_pkey_st *key, int64_t now_ms)
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);

	buf_addf(out, "%" PRId64 ".", now_ms);
	if (n > 0)
		add_url_base64(out, der, (size_t)n);
	OPENSSL_free(der);
}

void lead_key_sign(struct buf *out, struct evp_pkey_st *key, const struct inbox_entry *e, const char *time,
		   const char *color)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	EVP_MD_CTX *signer = EVP_MD_CTX_new();
	unsigned char bytes[64];
	size_t n = sizeof bytes;

	json_open(&w, '[');
	json_put_cstr(&w, "claude-team-lead-entry-v1");
	json_put_cstr(&w, e->id);
	json_put_cstr(&w, e->from);
	json_put_cstr(&w, time);
	json_put_str(&w, e->text);
	if (e->summary.n)
		json_put_str(&w, e->summary);
	else
		json_put_raw(&w, STR("null"));
	if (color)
		json_put_cstr(&w, color);
	else
		json_put_raw(&w, STR("null"));
	json_put_raw(&w, STR("null"));
	json_close(&w);
	if (signer && EVP_DigestSignInit(signer, NULL, NULL, NULL, key) > 0 &&
	    EVP_DigestSign(signer, bytes, &n, (const unsigned char *)text.p, text.n) > 0)
		add_url_base64(out, bytes, n);
	EVP_MD_CTX_free(signer);
}
