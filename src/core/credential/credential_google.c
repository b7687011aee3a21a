/* SPDX-License-Identifier: MIT
 * credential_google.c - access tokens of Google: of a service account, of a user who logged in with gcloud, of the machine. */
#include "core/credential/credential_int.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include "lib/base/base64.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

enum { ASK_LIMIT_MS = 30000, TOKEN_LIFE_S = 3600 };

static void sign(const struct credential *c, const struct credential_request *r, struct arena *a, const char **headers)
{
	(void)r;
	headers[0] = arena_printf(a, "authorization: Bearer %s", c->token);
	if (c->extra)
		headers[1] = arena_printf(a, "x-goog-user-project: %s", c->extra);
}

static void add_base64url(struct buf *out, struct str bytes)
{
	AUTO_BUF struct buf text = { 0 };

	base64_add(&text, bytes);
	for (size_t i = 0; i < text.n && text.p[i] != '='; i++)
		buf_addch(out, text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i]);
}

static bool add_signature(struct buf *out, const char *pem, struct str text)
{
	char no_password[] = ""; /* NULL would ask for one at the terminal */
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, no_password) : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char signature[1024];
	size_t n = sizeof signature;

	bool good = key && context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
		    EVP_DigestSign(context, signature, &n, (const unsigned char *)text.p, text.n) == 1;
	if (good)
		add_base64url(out, (struct str){ (char *)signature, n });
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return good;
}

static void ask_as_service(struct credential *c, const struct json *file, struct arena *a)
{
	AUTO_BUF struct buf claims = { 0 };
	AUTO_BUF struct buf jwt = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf form = { 0 };
	const char *key = json_cstr(json_get(file, "private_key"), a), *uri = json_cstr(json_get(file, "token_uri"), a);
	struct json_out head = json_out(&text);

	json_open(&head, '{');
	json_kcstr(&head, "alg", "RS256");
	json_kcstr(&head, "typ", "JWT");
	if (json_get(file, "private_key_id"))
		json_kcstr(&head, "kid", json_cstr(json_get(file, "private_key_id"), a));
	json_close(&head);
	add_base64url(&jwt, buf_str(&text));
	struct json_out w = json_out(&claims);
	uri = uri ? uri : "https://oauth2.googleapis.com/token";
	json_open(&w, '{');
	json_kcstr(&w, "iss", json_cstr(json_get(file, "client_email"), a));
	json_kcstr(&w, "scope", "https://www.googleapis.com/auth/cloud-platform");
	json_kcstr(&w, "aud", uri);
	json_ki64(&w, "iat", id_wall_ms() / 1000);
	json_ki64(&w, "exp", id_wall_ms() / 1000 + TOKEN_LIFE_S);
	json_close(&w);
	buf_addch(&jwt, '.');
	add_base64url(&jwt, buf_str(&claims));
	struct str signed_text = buf_str(&jwt);
	AUTO_BUF struct buf signature = { 0 };
	if (!key || !add_signature(&signature, key, signed_text)) {
		credential_failed(c, "the service account's private key cannot sign");
		return;
	}
	buf_addf(&jwt, ".%s", signature.p);
	credential_form_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
	credential_form_add(&form, "assertion", jwt.p);
	credential_ask(c, "POST", uri, (const char *const[]){ "content-type: application/x-www-form-urlencoded", NULL },
		       form.p, ASK_LIMIT_MS, credential_take_token);
}

static void ask_as_user(struct credential *c, const struct json *file, struct arena *a)
{
	static const char *const members[] = { "client_id", "client_secret", "refresh_token" };
	AUTO_BUF struct buf form = { 0 };
	const char *uri = json_cstr(json_get(file, "token_uri"), a);

	credential_form_add(&form, "grant_type", "refresh_token");
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const char *value = json_cstr(json_get(file, members[i]), a);
		credential_form_add(&form, members[i], value ? value : "");
	}
	credential_ask(c, "POST", uri ? uri : "https://oauth2.googleapis.com/token",
		       (const char *const[]){ "content-type: application/x-www-form-urlencoded", NULL }, form.p,
		       ASK_LIMIT_MS, credential_take_token);
}

static void after_gcloud(struct credential *c, const char *failed, struct str output)
{
	if (failed || !output.n) {
		credential_failed(c, "gcloud gave no token: %s", failed ? failed : "it printed nothing");
		return;
	}
	credential_put(&c->token, output);
	credential_got(c, id_wall_ms() + USUAL_LIFE_MS - REFRESH_BEFORE_MS);
}

static void fetch(struct credential *c)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct json *file = NULL;
	const char *path = credential_env(c, "GOOGLE_APPLICATION_CREDENTIALS"), *given = path;
	const char *config = credential_env(c, "CLOUDSDK_CONFIG"), *home = credential_env(c, "HOME");
	const char *host = credential_env(c, "GCE_METADATA_HOST");
	struct err err = { 0 };

	if (!path)
		path = config ? arena_printf(&a, "%s/application_default_credentials.json", config)
			      : arena_printf(&a, "%s/.config/gcloud/application_default_credentials.json",
					     home ? home : "");
	if (file_read(path, LARGEST_OUTPUT, &text, &err) == 0)
		(void)json_parse(&reader, text.p, text.n, &file, NULL);
	else if (given) {
		credential_failed(c, "GOOGLE_APPLICATION_CREDENTIALS cannot be read: %s", err.text);
		return;
	}
	const struct json *type = json_get(file, "type");
	credential_put(&c->extra, json_str(json_get(file, "quota_project_id"), &a));
	if (json_str_is(type, "service_account"))
		ask_as_service(c, file, &a);
	else if (json_str_is(type, "authorized_user"))
		ask_as_user(c, file, &a);
	else if (file && credential_runs_program(c, "gcloud"))
		credential_run(c, "gcloud auth application-default print-access-token", ASK_LIMIT_MS, after_gcloud);
	else if (file)
		credential_failed(c, "%s is of a kind that needs the program gcloud", path);
	else
		credential_ask(c, "GET",
			       arena_printf(&a, "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
					    host ? host : "metadata.google.internal"),
			       (const char *const[]){ "Metadata-Flavor: Google", NULL }, NULL, 3000,
			       credential_take_token);
}

const struct credential_ops credential_google_ops = { .fetch = fetch, .sign = sign };
