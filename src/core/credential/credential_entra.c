/* SPDX-License-Identifier: MIT
 * credential_entra.c - tokens of Microsoft Entra for Foundry: of an application with a secret, of a workload, of the user's az. */
#include "core/credential/credential_int.h"
#include "lib/io/file.h"

enum { ASK_LIMIT_MS = 30000 };

static void sign(const struct credential *c, const struct credential_request *r, struct arena *a, const char **headers)
{
	(void)r;
	headers[0] = arena_printf(a, "authorization: Bearer %s", c->token);
}

static void fetch(struct credential *c)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf form = { 0 };
	AUTO_BUF struct buf assertion = { 0 };
	const char *client = credential_env(c, "AZURE_CLIENT_ID"), *tenant = credential_env(c, "AZURE_TENANT_ID");
	const char *secret = credential_env(c, "AZURE_CLIENT_SECRET"),
		   *file = credential_env(c, "AZURE_FEDERATED_TOKEN_FILE");
	const char *host = credential_env(c, "AZURE_AUTHORITY_HOST");
	struct err err = { 0 };

	if (client && tenant && (secret || file)) {
		credential_form_add(&form, "grant_type", "client_credentials");
		credential_form_add(&form, "client_id", client);
		credential_form_add(&form, "scope", "https://ai.azure.com/.default");
		if (secret) {
			credential_form_add(&form, "client_secret", secret);
		} else if (file_read(file, LARGEST_OUTPUT, &assertion, &err) == 0) {
			struct str text = str_trim(buf_str(&assertion));
			credential_form_add(&form, "client_assertion_type",
					    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
			credential_form_add(&form, "client_assertion", arena_str(&a, text).p);
		} else {
			credential_failed(c, "AZURE_FEDERATED_TOKEN_FILE cannot be read: %s", err.text);
			return;
		}
		struct str base = str_from(host ? host : "https://login.microsoftonline.com");
		while (base.n && base.p[base.n - 1] == '/')
			base.n--;
		credential_ask(c, "POST", arena_printf(&a, STR_FMT "/%s/oauth2/v2.0/token", STR_ARG(base), tenant),
			       (const char *const[]){ "content-type: application/x-www-form-urlencoded", NULL }, form.p,
			       ASK_LIMIT_MS, credential_take_token);
	} else if (credential_runs_program(c, "az")) {
		credential_run(c, "az account get-access-token --resource https://ai.azure.com --output json",
			       ASK_LIMIT_MS, credential_take_token);
	} else {
		credential_failed(
			c,
			"no credential for Foundry: set ANTHROPIC_FOUNDRY_API_KEY, or AZURE_CLIENT_ID, AZURE_TENANT_ID "
			"and AZURE_CLIENT_SECRET, or log in with az");
	}
}

const struct credential_ops credential_entra_ops = { .fetch = fetch, .sign = sign };
