/* SPDX-License-Identifier: MIT
 * fuzz_oauth.c - any bytes as each of the texts that servers give us in an authorisation. Besides not crashing: a token that is
 * taken fits into a header, a resource that is taken covers our server, and every address that is taken is one we go to. */
#include "mcp/auth/oauth_discovery.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "lib/io/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char server[] = "https://s.example/mcp";

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_token(struct arena *arena, struct str text)
{
	struct oauth_token t;

	if (oauth_token_read(arena, 200, text, NULL, NULL, &t, NULL, NULL) < 0)
		return;
	must(t.access[0] != '\0');
	for (const char *c = t.access; *c; c++)
		must(*c > ' ' && *c < 0x7f);
	must(t.renew_ms <= t.expires_ms);
}

static void check_documents(struct arena *arena, struct str text)
{
	struct oauth_resource r;
	struct oauth_issuer i;
	struct oauth_candidates places;

	if (oauth_resource_read(arena, text, server, &r, NULL) == 0) {
		must(oauth_url_covers(r.resource, server));
		(void)oauth_issuer_candidates(arena, r.issuer, &places, NULL);
	}
	if (oauth_issuer_read(arena, text, NULL, false, &i, NULL) < 0)
		return;
	must(oauth_url_check(i.token_url, false, "", NULL) == 0);
	must(!i.authorize_url || oauth_url_check(i.authorize_url, false, "", NULL) == 0);
	must(!i.register_url || oauth_url_check(i.register_url, false, "", NULL) == 0);
}

static void check_url(struct arena *arena, struct str text)
{
	const char *copy = arena_dup(arena, text.p, text.n);
	struct oauth_url url;

	if (oauth_url_parse(arena, copy, &url, NULL) == 0)
		must(url.path[0] == '/' && str_starts(str_from(url.origin), STR("http")));
	(void)url_resolve(arena, server, copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str text = { size ? (const char *)data : "", size };
	struct oauth_client client;

	(void)oauth_challenge_read(&arena, text);
	(void)oauth_form_get(&arena, text, "state");
	(void)oauth_register_read(&arena, text, 0, &client, NULL);
	check_token(&arena, text);
	check_documents(&arena, text);
	check_url(&arena, text);
	return 0;
}
