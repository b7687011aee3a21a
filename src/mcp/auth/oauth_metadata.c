/* SPDX-License-Identifier: MIT
 * oauth_metadata.c - where the documents of discovery are, and what counts in them. */
#include "mcp/auth/oauth_metadata.h"
#include "lib/json/json.h"
#include "mcp/auth/oauth_url.h"

enum { DOCUMENT_DEPTH = 32, SCOPES_LIMIT_BYTES = 8 << 10 };

/* ---- places ---- */

static void add_place(struct oauth_places *places, const char *url)
{
	for (size_t i = 0; i < places->count; i++)
		if (!strcmp(places->urls[i], url))
			return;
	places->urls[places->count++] = url;
}

/* A path without the slash at its end; "" for the root. */
static const char *bare_path(struct arena *arena, const char *path)
{
	size_t n = strlen(path);

	return arena_dup(arena, path, path[n - 1] == '/' ? n - 1 : n);
}

int oauth_resource_places(struct arena *arena, const char *server_url, const char *given,
			  struct oauth_places *ret_places, struct err *err)
{
	struct oauth_url url;

	int rc = oauth_url_parse(arena, server_url, &url, err);
	if (rc < 0)
		return rc;
	const char *root = arena_printf(arena, "%s/.well-known/oauth-protected-resource", url.origin);
	*ret_places = (struct oauth_places){ 0 };
	if (given)
		add_place(ret_places, given);
	add_place(ret_places, arena_printf(arena, "%s%s", root, bare_path(arena, url.path)));
	add_place(ret_places, root);
	return 0;
}

int oauth_issuer_places(struct arena *arena, const char *issuer, struct oauth_places *ret_places, struct err *err)
{
	struct oauth_url url;

	int rc = oauth_url_parse(arena, issuer, &url, err);
	if (rc < 0)
		return rc;
	const char *known = arena_printf(arena, "%s/.well-known", url.origin);
	const char *path = bare_path(arena, url.path);
	*ret_places = (struct oauth_places){ 0 };
	add_place(ret_places, arena_printf(arena, "%s/oauth-authorization-server%s", known, path));
	add_place(ret_places, arena_printf(arena, "%s/openid-configuration%s", known, path));
	add_place(ret_places, arena_printf(arena, "%s%s/.well-known/openid-configuration", url.origin, path));
	return 0;
}

/* ---- documents ---- */

static int parse(struct json_reader *reader, struct str document, const struct json **ret_root, struct err *err)
{
	reader->limits = (struct json_limits){ OAUTH_DOCUMENT_BYTES, DOCUMENT_DEPTH };
	int rc = json_parse(reader, document.p, document.n, ret_root, err);
	if (rc < 0)
		return rc;
	return json_is(*ret_root, JSON_OBJECT) ? 0 : err_set(err, ERR_PARSE, "not a JSON object");
}

/* A list of texts with spaces between them. NULL: there is none. */
static const char *joined(struct arena *arena, const struct json *list)
{
	AUTO_BUF struct buf text = { 0 };

	if (!json_is(list, JSON_ARRAY))
		return NULL;
	for (const struct json *v = json_first(list); v && text.n < SCOPES_LIMIT_BYTES; v = json_next(list, v)) {
		struct str one = json_str(v, arena);
		if (text.n && one.n)
			buf_addch(&text, ' ');
		buf_add(&text, one.p, one.n);
	}
	return arena_dup(arena, text.n ? text.p : "", text.n);
}

static bool lists(const struct json *list, const char *word)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (json_str_is(v, word))
			return true;
	return false;
}

int oauth_resource_read(struct arena *arena, struct str document, const char *server_url,
			struct oauth_resource *ret_resource, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	int rc = parse(&reader, document, &root, err);
	if (rc < 0)
		return rc;
	struct oauth_resource r = {
		.resource = json_cstr(json_get(root, "resource"), arena),
		.issuer = json_cstr(json_first(json_get(root, "authorization_servers")), arena),
		.scopes = joined(arena, json_get(root, "scopes_supported")),
	};
	if (!r.resource || !r.issuer)
		return err_set(err, ERR_PROTOCOL, "resource or authorization_servers is missing");
	if (!oauth_url_covers(r.resource, server_url))
		return err_set(err, ERR_DENIED, "its resource is %.80s, which is not the server that we talk to",
			       r.resource);
	*ret_resource = r;
	return 0;
}

static unsigned methods(const struct json *list, struct arena *arena)
{
	unsigned set = 0;
	enum oauth_method method;

	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (oauth_method_find(json_str(v, arena), &method))
			set |= 1u << method;
	return set;
}

static bool same_issuer(const char *a, const char *b)
{
	size_t an = strlen(a);
	size_t bn = strlen(b);

	an -= an && a[an - 1] == '/';
	bn -= bn && b[bn - 1] == '/';
	return an == bn && !strncmp(a, b, an);
}

static int check_urls(const struct oauth_issuer *i, bool loopback_allowed, struct err *err)
{
	const struct {
		const char *name, *url;
	} urls[] = {
		{ "authorization_endpoint", i->authorize_url },
		{ "token_endpoint", i->token_url },
		{ "registration_endpoint", i->register_url },
	};

	for (size_t n = 0; n < COUNT_OF(urls); n++) {
		int rc = urls[n].url ? oauth_url_check(urls[n].url, loopback_allowed, urls[n].name, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_issuer(const struct oauth_issuer *i, const char *wanted, const struct json *pkce, struct err *err)
{
	if (!i->token_url)
		return err_set(err, ERR_PROTOCOL, "token_endpoint is missing");
	if (wanted && (!i->issuer || !same_issuer(i->issuer, wanted)))
		return err_set(err, ERR_DENIED, "it is of the issuer %.60s, not %.60s",
			       i->issuer ? i->issuer : "(none)", wanted);
	if (json_is(pkce, JSON_ARRAY) && !lists(pkce, "S256"))
		return err_set(err, ERR_DENIED, "the authorisation server does not take PKCE with S256");
	return 0;
}

int oauth_issuer_read(struct arena *arena, struct str document, const char *issuer, bool loopback_allowed,
		      struct oauth_issuer *ret_issuer, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	int rc = parse(&reader, document, &root, err);
	if (rc < 0)
		return rc;
	const struct json *grants = json_get(root, "grant_types_supported");
	struct oauth_issuer i = {
		.issuer = json_cstr(json_get(root, "issuer"), arena),
		.authorize_url = json_cstr(json_get(root, "authorization_endpoint"), arena),
		.token_url = json_cstr(json_get(root, "token_endpoint"), arena),
		.register_url = json_cstr(json_get(root, "registration_endpoint"), arena),
		.scopes = joined(arena, json_get(root, "scopes_supported")),
		.methods = methods(json_get(root, "token_endpoint_auth_methods_supported"), arena),
		.code_grant = !json_is(grants, JSON_ARRAY) || lists(grants, "authorization_code"),
		.client_credentials = lists(grants, "client_credentials"),
		.client_documents = json_bool(json_get(root, "client_id_metadata_document_supported")),
		.says_issuer = json_bool(json_get(root, "authorization_response_iss_parameter_supported")),
	};
	rc = check_issuer(&i, issuer, json_get(root, "code_challenge_methods_supported"), err);
	if (rc == 0)
		rc = check_urls(&i, loopback_allowed, err);
	if (rc < 0)
		return rc;
	*ret_issuer = i;
	return 0;
}

int oauth_issuer_default(struct arena *arena, const char *server_url, struct oauth_issuer *ret_issuer, struct err *err)
{
	struct oauth_url url;

	int rc = oauth_url_parse(arena, server_url, &url, err);
	if (rc < 0)
		return rc;
	*ret_issuer = (struct oauth_issuer){
		.issuer = url.origin,
		.authorize_url = arena_printf(arena, "%s/authorize", url.origin),
		.token_url = arena_printf(arena, "%s/token", url.origin),
		.register_url = arena_printf(arena, "%s/register", url.origin),
		.code_grant = true,
	};
	return 0;
}
