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

/* ---- PKCE ---- */

enum { SECRET_BYTES = 32, DIGEST_BYTES = 32 };

/* without '=' at the end */
static void oauth_base64url(struct buf *out, const void *p, size_t n)
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

static char *base64url_text(struct arena *arena, const unsigned char *p, size_t n)
{
	AUTO_BUF struct buf text = { 0 };

	oauth_base64url(&text, p, n);
	return arena_dup(arena, text.p, text.n);
}

char *oauth_secret(struct arena *arena)
{
	unsigned char bytes[SECRET_BYTES];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		abort(); /* no randomness, no secret: abort */
	return base64url_text(arena, bytes, sizeof bytes);
}

char *oauth_pkce_challenge(struct arena *arena, const char *secret)
{
	unsigned char digest[DIGEST_BYTES];

	if (EVP_Digest(secret, strlen(secret), digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	return base64url_text(arena, digest, sizeof digest);
}

/* ---- client assertions: HEAD.CLAIMS.SIGNATURE, each base64url (RFC 7515) ---- */

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

/* The name of the algorithm; NULL: a kind of key that we do not sign with. */
static const char *jwt_algorithm(const EVP_PKEY *key)
{
	if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) == P256_BITS)
		return "ES256";
	return EVP_PKEY_is_a(key, "RSA") ? "RS256" : NULL;
}

static void jwt_add_claims(struct buf *out, const char *client_id, const char *audience)
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
	json_ki64(&w, "exp", now_s + JWT_LIFE_S);
	json_close(&w);
	oauth_base64url(out, json.p, json.n);
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
		/* OpenSSL gives the two numbers of an elliptic signature as DER; a JWT wants them side by side. */
		const unsigned char *der = signature;
		CLEANUP(free_pairp) ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)n);
		unsigned char numbers[2 * P256_NUMBER_BYTES];
		if (!pair || BN_bn2binpad(ECDSA_SIG_get0_r(pair), numbers, P256_NUMBER_BYTES) < 0 ||
		    BN_bn2binpad(ECDSA_SIG_get0_s(pair), numbers + P256_NUMBER_BYTES, P256_NUMBER_BYTES) < 0)
			return false;
		oauth_base64url(out, numbers, sizeof numbers);
		return true;
	}
	oauth_base64url(out, signature, n);
	return true;
}

static EVP_PKEY *read_private_key(const char *pem)
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
	CLEANUP(free_keyp) EVP_PKEY *key = read_private_key(private_key);
	const char *alg = key ? jwt_algorithm(key) : NULL;

	if (!alg)
		return err_set(err, ERR_USAGE,
			       "the client's private key is not a PEM of an RSA key or an elliptic key on P-256");
	AUTO_BUF struct buf json = { 0 };
	buf_addf(&json, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", alg);
	oauth_base64url(&jwt, json.p, json.n);
	buf_addch(&jwt, '.');
	jwt_add_claims(&jwt, client_id, audience);
	if (!jwt_sign(&signature, key, buf_str(&jwt)))
		return err_set(err, ERR_IO, "cannot sign with the client's private key");
	*ret_jwt = arena_printf(arena, "%s.%s", jwt.p, signature.p);
	return 0;
}

/* ---- the client ---- */

enum { ANSWER_BYTES = 256 << 10, ANSWER_DEPTH = 32 };

static const char *const method_words[] = {
	[OAUTH_BASIC] = "client_secret_basic",
	[OAUTH_POST] = "client_secret_post",
	[OAUTH_NONE] = "none",
	[OAUTH_KEY] = "private_key_jwt",
};

const char *oauth_method_word(enum oauth_method method)
{
	return method_words[method];
}

bool oauth_method_find(struct str word, enum oauth_method *ret_method)
{
	for (size_t i = 0; i < COUNT_OF(method_words); i++) {
		if (str_is(word, method_words[i])) {
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
	return OAUTH_BASIC; /* what RFC 8414 means by silence */
}

int oauth_client_prove(const struct oauth_client *client, const char *issuer, struct arena *arena, struct buf *form,
		       const char **ret_header, struct err *err)
{
	const char *assertion = NULL;

	*ret_header = NULL;
	if (client->method == OAUTH_BASIC && client->secret) {
		/* Both parts are encoded as in a form before they are put together (RFC 6749, 2.3.1). */
		AUTO_BUF struct buf pair = { 0 };
		AUTO_BUF struct buf header = { 0 };
		oauth_percent(&pair, str_from(client->id));
		buf_addch(&pair, ':');
		oauth_percent(&pair, str_from(client->secret));
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

/* ---- registration ---- */

/* A program on the user's machine cannot keep a secret, so a public client is preferred. */
static enum oauth_method wanted_method(unsigned methods)
{
	if (!methods || methods & 1u << OAUTH_NONE)
		return OAUTH_NONE;
	return methods & 1u << OAUTH_BASIC ? OAUTH_BASIC : OAUTH_POST;
}

static void put_texts(struct json_out *w, const char *key, const char *first, const char *second)
{
	json_key(w, key);
	json_open(w, '[');
	json_put_cstr(w, first);
	if (second)
		json_put_cstr(w, second);
	json_close(w);
}

void oauth_register_write(struct buf *out, const char *redirect, unsigned methods, const char *scope)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "client_name", "cadre");
	json_kcstr(&w, "application_type", "native");
	put_texts(&w, "redirect_uris", redirect, NULL);
	put_texts(&w, "grant_types", "authorization_code", "refresh_token");
	put_texts(&w, "response_types", "code", NULL);
	json_kcstr(&w, "token_endpoint_auth_method", oauth_method_word(wanted_method(methods)));
	if (scope)
		json_kcstr(&w, "scope", scope);
	json_close(&w);
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
	if (!json_i64(json_get(root, "client_secret_expires_at"), &expires_s) || expires_s > INT64_MAX / 1000)
		expires_s = 0;
	c.expires_ms = expires_s * 1000;
	struct str method = json_str(json_get(root, "token_endpoint_auth_method"), arena);
	if (!oauth_method_find(method, &c.method) || c.method == OAUTH_KEY || (c.method != OAUTH_NONE && !c.secret))
		c.method = oauth_client_method(&c, methods);
	*ret_client = c;
	return 0;
}
