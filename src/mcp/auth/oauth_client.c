/* SPDX-License-Identifier: MIT
 * oauth_client.c - PKCE, client assertions, registration and authentication of the OAuth client. */
#include "mcp/auth/oauth_client.h"
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include "lib/base/base64.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "mcp/auth/oauth_http.h"

enum { SECRET_BYTES = 32, DIGEST_BYTES = 32 };

char *oauth_secret(struct arena *arena)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned char bytes[SECRET_BYTES];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		abort(); /* there is no safe way to continue without randomness */
	base64url_add(&text, (struct str){ (const char *)bytes, sizeof bytes });
	return arena_dup(arena, text.p, text.n);
}

char *oauth_pkce_challenge(struct arena *arena, const char *secret)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned char digest[DIGEST_BYTES];

	if (EVP_Digest(secret, strlen(secret), digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	base64url_add(&text, (struct str){ (const char *)digest, sizeof digest });
	return arena_dup(arena, text.p, text.n);
}

/* Client assertions: HEAD.CLAIMS.SIGNATURE, each base64url (RFC 7515). */

enum { JWT_LIFE_S = 300, P256_BITS = 256, P256_NUMBER_BYTES = 32 };

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

static bool jwt_sign(struct buf *out, EVP_PKEY *key, struct str text)
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
	if (EVP_PKEY_is_a(key, "EC")) {
		/* OpenSSL gives the two numbers of an elliptic signature as DER; a JWT has them side by side. */
		const unsigned char *der = signature;
		CLEANUP(free_pairp) ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)n);
		unsigned char numbers[2 * P256_NUMBER_BYTES];
		if (!pair || BN_bn2binpad(ECDSA_SIG_get0_r(pair), numbers, P256_NUMBER_BYTES) < 0 ||
		    BN_bn2binpad(ECDSA_SIG_get0_s(pair), numbers + P256_NUMBER_BYTES, P256_NUMBER_BYTES) < 0)
			return false;
		base64url_add(out, (struct str){ (const char *)numbers, sizeof numbers });
		return true;
	}
	base64url_add(out, (struct str){ (const char *)signature, n });
	return true;
}

int oauth_jwt_client(struct arena *arena, const char *private_key, const char *client_id, const char *audience,
		     const char **ret_jwt, struct err *err)
{
	AUTO_BUF struct buf jwt = { 0 }, json = { 0 }, signature = { 0 };
	char id[UUID_LEN + 1];
	int64_t now_s = id_wall_ms() / 1000;
	char no_password[] = ""; /* NULL would ask for one at the terminal */
	BIO *bio = BIO_new_mem_buf(private_key, -1);
	CLEANUP(free_keyp) EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, no_password) : NULL;
	const char *alg = NULL;

	BIO_free(bio);
	if (key && EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) == P256_BITS)
		alg = "ES256";
	else if (key && EVP_PKEY_is_a(key, "RSA"))
		alg = "RS256";
	if (!alg)
		return err_set(err, ERR_USAGE,
			       "the client's private key is not a PEM of an RSA key or an elliptic key on P-256");
	buf_addf(&json, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", alg);
	base64url_add(&jwt, buf_str(&json));
	buf_addch(&jwt, '.');
	buf_clear(&json);
	id_uuid(id);
	json_addf(&json, "{iss:'%s', sub:'%s', aud:'%s', jti:'%s', iat:%lld, exp:%lld}", client_id, client_id, audience,
		  id, (long long)now_s, (long long)(now_s + JWT_LIFE_S));
	base64url_add(&jwt, buf_str(&json));
	if (!jwt_sign(&signature, key, buf_str(&jwt)))
		return err_set(err, ERR_IO, "cannot sign with the client's private key");
	*ret_jwt = arena_printf(arena, "%s.%s", jwt.p, signature.p);
	return 0;
}

enum { ANSWER_BYTES = 256 << 10, ANSWER_DEPTH = 32 };

const char *const oauth_method_words[] = {
	[OAUTH_BASIC] = "client_secret_basic",
	[OAUTH_POST] = "client_secret_post",
	[OAUTH_NONE] = "none",
	[OAUTH_KEY] = "private_key_jwt",
};

bool oauth_method_find(struct str word, enum oauth_method *ret_method)
{
	for (size_t i = 0; i < COUNT_OF(oauth_method_words); i++) {
		if (str_is(word, oauth_method_words[i])) {
			*ret_method = (enum oauth_method)i;
			return true;
		}
	}
	return false;
}

enum oauth_method oauth_client_method(const struct oauth_client *client, unsigned methods)
{
	if (client->private_key)
		return OAUTH_KEY;
	if (!client->secret)
		return OAUTH_NONE;
	for (enum oauth_method m = OAUTH_BASIC; m <= OAUTH_NONE; m++)
		if (methods & 1u << m)
			return m;
	return OAUTH_BASIC; /* the default of RFC 8414 */
}

int oauth_client_prove(const struct oauth_client *client, const char *issuer, struct arena *arena, struct buf *form,
		       const char **ret_header, struct err *err)
{
	const char *assertion = NULL;

	*ret_header = NULL;
	if (client->method == OAUTH_BASIC && client->secret) {
		/* Both parts are encoded as in a form before they are put together (RFC 6749, 2.3.1). */
		AUTO_BUF struct buf pair = { 0 }, header = { 0 };
		percent_encode(&pair, str_from(client->id), "");
		buf_addch(&pair, ':');
		percent_encode(&pair, str_from(client->secret), "");
		buf_addstr(&header, "Authorization: Basic ");
		base64_add(&header, buf_str(&pair));
		*ret_header = arena_dup(arena, header.p, header.n);
		return 0;
	}
	oauth_form_add(form, "client_id", client->id);
	if (client->method == OAUTH_POST)
		oauth_form_add(form, "client_secret", client->secret);
	if (client->method != OAUTH_KEY)
		return 0;
	int rc = oauth_jwt_client(arena, client->private_key, client->id, issuer, &assertion, err);
	oauth_form_add(form, "client_assertion_type",
		       assertion ? "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" : NULL);
	oauth_form_add(form, "client_assertion", assertion);
	return rc;
}

void oauth_register_write(struct buf *out, const char *redirect, unsigned methods, const char *scope)
{
	struct json_out w = json_out(out);
	/* A program on the user's machine cannot keep a secret, so a public client is preferred. */
	enum oauth_method method = !methods || methods & 1u << OAUTH_NONE ? OAUTH_NONE
				   : methods & 1u << OAUTH_BASIC          ? OAUTH_BASIC
									  : OAUTH_POST;

	json_putf(&w, "{client_name:'cadre', application_type:'native', redirect_uris:['%s']", redirect);
	json_putf(&w, "grant_types:['authorization_code', 'refresh_token'], response_types:['code']");
	json_putf(&w, "token_endpoint_auth_method:'%s', scope?:'%s'}", oauth_method_words[method], scope);
}

int oauth_register_read(struct arena *arena, struct str answer, unsigned methods, struct oauth_client *ret_client,
			struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { ANSWER_BYTES, ANSWER_DEPTH } };
	const struct json *root;
	int64_t expires_s = 0;

	int rc = json_parse(&reader, answer.p, answer.n, &root, err);
	if (rc < 0)
		return rc;
	struct oauth_client c = {
		.id = json_cstr(json_get(root, "client_id"), arena),
		.secret = json_cstr(json_get(root, "client_secret"), arena),
		.registered = true,
	};
	if (!c.id || !c.id[0])
		return err_set(err, ERR_PROTOCOL, "client_id is missing");
	if (!json_i64(json_get(root, "client_secret_expires_at"), &expires_s) || expires_s < 0 ||
	    expires_s > INT64_MAX / 1000)
		expires_s = 0;
	c.expires_ms = expires_s * 1000;
	struct str method = json_str(json_get(root, "token_endpoint_auth_method"), arena);
	if (!oauth_method_find(method, &c.method) || c.method == OAUTH_KEY || (c.method != OAUTH_NONE && !c.secret))
		c.method = oauth_client_method(&c, methods);
	*ret_client = c;
	return 0;
}
