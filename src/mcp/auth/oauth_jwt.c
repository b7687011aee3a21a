/* SPDX-License-Identifier: MIT
 * oauth_jwt.c - HEAD.CLAIMS.SIGNATURE, each base64url (RFC 7515). */
#include "mcp/auth/oauth_jwt.h"
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include "lib/base/id.h"
#include "lib/json/json_write.h"
#include "mcp/auth/oauth_pkce.h"

enum { LIFE_S = 300, P256_BITS = 256, P256_NUMBER_BYTES = 32 };

static void free_keyp(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}
static void free_contextp(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}
static void free_pairp(ECDSA_SIG **pair)
{
	ECDSA_SIG_free(*pair);
}

/* The name of the algorithm; NULL: a kind of key that we do not sign with. */
static const char *algorithm(const EVP_PKEY *key)
{
	if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) == P256_BITS)
		return "ES256";
	return EVP_PKEY_is_a(key, "RSA") ? "RS256" : NULL;
}

static void add_head(struct buf *out, const char *alg)
{
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", alg);
	oauth_base64url(out, json.p, json.n);
}

static void add_claims(struct buf *out, const char *client_id, const char *audience)
{
	AUTO_BUF struct buf json = { 0 };
	struct json_out w = json_out(&json);
	char id[UUID_LEN + 1];
	int64_t now_s = id_wall_ms() / 1000;

	id_uuid(id);
	json_open(&w, '{');
	json_kcstr(&w, "iss", client_id);
	json_kcstr(&w, "sub", client_id);
	json_kcstr(&w, "aud", audience);
	json_kcstr(&w, "jti", id);
	json_ki64(&w, "iat", now_s);
	json_ki64(&w, "exp", now_s + LIFE_S);
	json_close(&w);
	oauth_base64url(out, json.p, json.n);
}

/* OpenSSL gives the two numbers of an elliptic signature as DER; a JWT wants them side by side. */
static bool add_pair(struct buf *out, const unsigned char *der, size_t n)
{
	CLEANUP(free_pairp) ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)n);
	unsigned char numbers[2 * P256_NUMBER_BYTES];

	if (!pair || BN_bn2binpad(ECDSA_SIG_get0_r(pair), numbers, P256_NUMBER_BYTES) < 0 ||
	    BN_bn2binpad(ECDSA_SIG_get0_s(pair), numbers + P256_NUMBER_BYTES, P256_NUMBER_BYTES) < 0)
		return false;
	oauth_base64url(out, numbers, sizeof numbers);
	return true;
}

static bool sign(struct buf *out, EVP_PKEY *key, struct str text)
{
	CLEANUP(free_contextp) EVP_MD_CTX *context = EVP_MD_CTX_new();
	const unsigned char *bytes = (const unsigned char *)text.p;
	size_t n = 0;

	if (!context || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(context, NULL, &n, bytes, text.n) != 1)
		return false;
	AUTO_FREE unsigned char *signature = xmalloc(n);
	if (EVP_DigestSign(context, signature, &n, bytes, text.n) != 1)
		return false;
	if (EVP_PKEY_is_a(key, "EC"))
		return add_pair(out, signature, n);
	oauth_base64url(out, signature, n);
	return true;
}

static EVP_PKEY *read_key(const char *pem)
{
	char no_password[] = ""; /* NULL would ask for one at the terminal */
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, no_password) : NULL;

	BIO_free(bio);
	return key;
}

int oauth_jwt_client(struct arena *arena, const char *private_key, const char *client_id, const char *audience,
		     const char **ret_jwt, struct err *err)
{
	AUTO_BUF struct buf jwt = { 0 };
	AUTO_BUF struct buf signature = { 0 };
	CLEANUP(free_keyp) EVP_PKEY *key = read_key(private_key);
	const char *alg = key ? algorithm(key) : NULL;

	if (!alg)
		return err_set(err, ERR_USAGE,
			       "the client's private key is no PEM of an RSA key or an elliptic key on P-256");
	add_head(&jwt, alg);
	buf_addch(&jwt, '.');
	add_claims(&jwt, client_id, audience);
	if (!sign(&signature, key, buf_str(&jwt)))
		return err_set(err, ERR_IO, "cannot sign with the client's private key");
	*ret_jwt = arena_printf(arena, "%s.%s", jwt.p, signature.p);
	return 0;
}
