/* SPDX-License-Identifier: MIT
 * credential_token.c - access tokens: of Google for a service account, a user who logged in with gcloud, or the machine; of
 * Microsoft Entra for an application with a secret, a workload, or the user of az. */
#include "core/credential/credential_int.h"
#include "core/credential/sigv4.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include "lib/base/base64.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

#define GOOGLE_TOKEN_URI "https://oauth2.googleapis.com/token"

enum { ASK_LIMIT_MS = 30000, MACHINE_LIMIT_MS = 3000, TOKEN_LIFE_S = 3600 };

static void bearer_sign(struct credential *c, const struct credential_request *r, struct arena *a, const char **headers)
{
	headers[0] = arena_printf(a, "authorization: Bearer %s", c->token);
	if (c->extra)
		headers[1] = arena_printf(a, "x-goog-user-project: %s", c->extra);
}

static void form_add(struct buf *form, const char *name, const char *value)
{
	buf_addf(form, "%s%s=", form->n ? "&" : "", name);
	percent_encode(form, str_from(value), "");
}

/* {"access_token":"...","expires_in":N}, or the second of its end in expires_on: sets the token and ends the fetch. */
static void after_token(struct credential *c, const char *failed, struct str output)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL;
	int64_t seconds = USUAL_LIFE_MS / 1000, now_ms = id_wall_ms();

	if (failed) {
		credential_failed(c, "no token: %s%s", failed,
				  c->ops == &credential_google_ops
					  ? " (`gcloud auth application-default login` renews a login)"
				  : c->body.n ? " (AZURE_CLIENT_ID and AZURE_TENANT_ID name the application)"
					      : "");
		return;
	}
	(void)json_parse(&reader, output.p, output.n, &root, NULL);
	struct str token =
		json_str(json_get(root, json_get(root, "access_token") ? "access_token" : "accessToken"), &a);
	const struct json *life = json_get(root, "expires_in"), *end = json_get(root, "expires_on");
	struct str text = json_str(life ? life : end, &a);
	bool known = json_i64(life ? life : end, &seconds) || (text.n && str_to_i64(text, &seconds));
	if (known && !life)
		seconds = MAX(seconds, (int64_t)0) - now_ms / 1000;
	seconds = MAX((int64_t)0, MIN(seconds, (int64_t)LONGEST_LIFE_S));
	if (!token.n) {
		credential_failed(c, "the answer has no token");
		return;
	}
	credential_put(&c->token, token);
	credential_got(c, credential_renewal_ms(now_ms + seconds * 1000), now_ms + seconds * 1000);
}

static void ask_for_token(struct credential *c, const char *uri, const struct buf *form)
{
	credential_ask(c, "POST", uri, (const char *const[]){ "content-type: application/x-www-form-urlencoded", NULL },
		       form->p, ASK_LIMIT_MS, after_token);
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
		base64url_add(out, (struct str){ (char *)signature, n });
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return good;
}

static void ask_as_service(struct credential *c, const struct json *file, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 }, jwt = { 0 }, form = { 0 };
	const char *key = json_cstr(json_get(file, "private_key"), a), *uri = json_cstr(json_get(file, "token_uri"), a);
	long long now_s = id_wall_ms() / 1000;

	uri = uri ? uri : GOOGLE_TOKEN_URI;
	json_addf(&text, "{alg:'RS256', typ:'JWT', kid?:%.*s}", JSON_ARG(json_get(file, "private_key_id")));
	base64url_add(&jwt, buf_str(&text));
	buf_clear(&text);
	json_addf(&text,
		  "{iss:'%.*s', scope:'https://www.googleapis.com/auth/cloud-platform', aud:'%s', iat:%lld, exp:%lld}",
		  STR_ARG(json_str(json_get(file, "client_email"), a)), uri, now_s, now_s + TOKEN_LIFE_S);
	buf_addch(&jwt, '.');
	base64url_add(&jwt, buf_str(&text));
	AUTO_BUF struct buf signature = { 0 };
	if (!key || !add_signature(&signature, key, buf_str(&jwt))) {
		credential_failed(c, "the service account's private key cannot sign");
		return;
	}
	buf_addf(&jwt, ".%s", signature.p);
	form_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
	form_add(&form, "assertion", jwt.p);
	ask_for_token(c, uri, &form);
}

static void after_gcloud(struct credential *c, const char *failed, struct str output)
{
	if (failed || !output.n) {
		credential_failed(c, "gcloud gave no token: %s", failed ? failed : "it printed nothing");
		return;
	}
	credential_put(&c->token, output);
	credential_got(c, credential_renewal_ms(id_wall_ms() + USUAL_LIFE_MS), 0);
}

static void after_machine_token(struct credential *c, const char *failed, struct str output)
{
	if (failed)
		credential_failed(c,
				  "no credential for Google: run `gcloud auth application-default login`, or set "
				  "GOOGLE_APPLICATION_CREDENTIALS (no account file, and no machine of Google: %s)",
				  failed);
	else
		after_token(c, NULL, output);
}

const char *credential_google_project(struct arena *a, const struct variables *v)
{
	const char *path = variables_get(v, "GOOGLE_APPLICATION_CREDENTIALS");
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct json *file = NULL;
	struct err err = { 0 };

	if (path && file_read(path, LARGEST_OUTPUT, &text, &err) == 0)
		(void)json_parse(&reader, text.p, text.n, &file, NULL);
	const char *project = json_cstr(json_get(file, "project_id"), a);
	return project && project[0] ? project : NULL;
}

static void google_fetch(struct credential *c)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 }, form = { 0 };
	const struct json *file = NULL;
	const char *path = credential_env(c, "GOOGLE_APPLICATION_CREDENTIALS"), *given = path;
	const char *config = credential_env(c, "CLOUDSDK_CONFIG"), *home = credential_env(c, "HOME");
	const char *host = credential_env(c, "GCE_METADATA_HOST");
	struct err err = { 0 };

	if (!path)
		path = config ? arena_printf(&a, "%s/application_default_credentials.json", config)
			      : arena_printf(&a, "%s/.config/gcloud/application_default_credentials.json",
					     home ? home : "");
	/* The machine's own account is for those who have no file: one that cannot be used must not become it. */
	bool there = file_read(path, LARGEST_OUTPUT, &text, &err) == 0;
	if (there && json_parse(&reader, text.p, text.n, &file, NULL) < 0)
		(void)err_set(&err, ERR_USAGE, "%s is not JSON", path);
	if (err.kind && (there || given)) {
		credential_failed(c, "%s: %s",
				  given ? "GOOGLE_APPLICATION_CREDENTIALS cannot be read" : "no credential for Google",
				  err.text);
		return;
	}
	const struct json *type = json_get(file, "type");
	credential_put(&c->extra, json_str(json_get(file, "quota_project_id"), &a));
	if (json_str_is(type, "service_account")) {
		ask_as_service(c, file, &a);
	} else if (json_str_is(type, "authorized_user")) {
		static const char *const members[] = { "client_id", "client_secret", "refresh_token" };
		const char *uri = json_cstr(json_get(file, "token_uri"), &a);
		form_add(&form, "grant_type", "refresh_token");
		for (size_t i = 0; i < COUNT_OF(members); i++) {
			const char *value = json_cstr(json_get(file, members[i]), &a);
			form_add(&form, members[i], value ? value : "");
		}
		ask_for_token(c, uri ? uri : GOOGLE_TOKEN_URI, &form);
	} else if (file && credential_runs_program(c, "gcloud")) {
		credential_run(c, "gcloud auth application-default print-access-token", ASK_LIMIT_MS, after_gcloud);
	} else if (file) {
		credential_failed(c, "%s is of a kind that needs the program gcloud", path);
	} else {
		credential_ask(c, "GET",
			       arena_printf(&a, "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
					    host ? host : "metadata.google.internal"),
			       (const char *const[]){ "Metadata-Flavor: Google", NULL }, NULL, MACHINE_LIMIT_MS,
			       after_machine_token);
	}
}

const struct credential_ops credential_google_ops = { .fetch = google_fetch, .sign = bearer_sign };

static void entra_fetch(struct credential *c)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf form = { 0 }, assertion = { 0 };
	const char *client = credential_env(c, "AZURE_CLIENT_ID"), *tenant = credential_env(c, "AZURE_TENANT_ID");
	const char *secret = credential_env(c, "AZURE_CLIENT_SECRET"),
		   *file = credential_env(c, "AZURE_FEDERATED_TOKEN_FILE");
	const char *host = credential_env(c, "AZURE_AUTHORITY_HOST"),
		   *identity = credential_env(c, "IDENTITY_ENDPOINT");
	struct err err = { 0 };

	if (client && tenant && (secret || file)) {
		form_add(&form, "grant_type", "client_credentials");
		form_add(&form, "client_id", client);
		form_add(&form, "scope", "https://ai.azure.com/.default");
		if (secret) {
			form_add(&form, "client_secret", secret);
		} else if (file_read(file, LARGEST_OUTPUT, &assertion, &err) == 0) {
			struct str text = str_trim(buf_str(&assertion));
			form_add(&form, "client_assertion_type",
				 "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
			form_add(&form, "client_assertion", arena_str(&a, text).p);
		} else {
			credential_failed(c, "AZURE_FEDERATED_TOKEN_FILE cannot be read: %s", err.text);
			return;
		}
		struct str base = str_from(host ? host : "https://login.microsoftonline.com");
		while (base.n && base.p[base.n - 1] == '/')
			base.n--;
		ask_for_token(c, arena_printf(&a, STR_FMT "/%s/oauth2/v2.0/token", STR_ARG(base), tenant), &form);
	} else if (identity) { /* of the machine, as Azure's services give it */
		form_add(&form, "api-version", "2019-08-01");
		form_add(&form, "resource", "https://ai.azure.com");
		if (client)
			form_add(&form, "client_id", client);
		const char *uri = arena_printf(&a, "%s%s%s", identity, strchr(identity, '?') ? "&" : "?", form.p);
		const char *header = credential_env(c, "IDENTITY_HEADER");
		header = arena_printf(&a, "X-IDENTITY-HEADER: %s", header ? header : "");
		credential_ask(c, "GET", uri, (const char *const[]){ header, NULL }, NULL, ASK_LIMIT_MS, after_token);
	} else if (credential_runs_program(c, "az")) {
		credential_run(c, "az account get-access-token --resource https://ai.azure.com --output json",
			       ASK_LIMIT_MS, after_token);
	} else {
		credential_failed(
			c,
			"no credential for Foundry: set ANTHROPIC_FOUNDRY_API_KEY, or AZURE_CLIENT_ID, AZURE_TENANT_ID "
			"and AZURE_CLIENT_SECRET, or log in with az");
	}
}

const struct credential_ops credential_entra_ops = { .fetch = entra_fetch, .sign = bearer_sign };
