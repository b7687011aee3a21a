/* SPDX-License-Identifier: MIT
 * oauth_discovery.c - reads challenges and metadata documents, and has the states of a flow that look for them: RESOURCE and
 * ISSUER. */
#include "mcp/auth/oauth_discovery.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_http.h"

/* WWW-Authenticate: SCHEME name=value, name="value", SCHEME ... A word is a scheme if no '=' follows it. */

struct challenge_reader {
	struct str rest;
	struct arena *arena;
};

static bool is_word(char c)
{
	return c > ' ' && c < 0x7f && !char_in(c, "()<>@,;:\\\"/[]?={}");
}

static void challenge_skip(struct challenge_reader *r, const char *set)
{
	while (r->rest.n && char_in(r->rest.p[0], set)) {
		r->rest.p++;
		r->rest.n--;
	}
}

static struct str challenge_take(struct challenge_reader *r, bool (*fits)(char))
{
	struct str taken = { r->rest.p, 0 };

	while (taken.n < r->rest.n && fits(r->rest.p[taken.n]))
		taken.n++;
	r->rest.p += taken.n;
	r->rest.n -= taken.n;
	return taken;
}

static bool is_unquoted(char c)
{
	return c != ',' && c != ' ' && c != '\t';
}

static const char *challenge_value(struct challenge_reader *r)
{
	challenge_skip(r, " \t");
	if (r->rest.n && r->rest.p[0] == '"') {
		AUTO_BUF struct buf text = { 0 };
		size_t i = 1;
		for (; i < r->rest.n && r->rest.p[i] != '"'; i++) {
			if (r->rest.p[i] == '\\' && i + 1 < r->rest.n)
				i++;
			buf_addch(&text, r->rest.p[i]);
		}
		i = MIN(i + 1, r->rest.n);
		r->rest.p += i;
		r->rest.n -= i;
		return arena_dup(r->arena, text.n ? text.p : "", text.n);
	}
	return arena_str(r->arena, challenge_take(r, is_unquoted)).p;
}

struct oauth_challenge oauth_challenge_read(struct arena *arena, struct str header)
{
	struct challenge_reader r = { header, arena };
	struct oauth_challenge c = { 0 };
	bool is_bearer = false;

	for (;;) {
		challenge_skip(&r, ", \t");
		struct str word = challenge_take(&r, is_word);
		if (!r.rest.n)
			return c;
		if (!word.n) {
			str_cut(&r.rest, ','); /* not a list of parameters: credentials of another scheme */
			continue;
		}
		challenge_skip(&r, " \t");
		if (r.rest.n && r.rest.p[0] == '=') {
			challenge_skip(&r, "=");
			const char *text = challenge_value(&r);
			if (is_bearer) {
				const char **member = str_is_nocase(word, "resource_metadata") ? &c.metadata_url
						      : str_is_nocase(word, "scope")           ? &c.scope
						      : str_is_nocase(word, "error")           ? &c.error
											       : NULL;

				if (member && !*member && text[0])
					*member = text;
			}
		} else if (is_bearer) {
			return c;
		} else {
			is_bearer = str_is_nocase(word, "Bearer");
		}
	}
}

enum { DOCUMENT_DEPTH = 32, SCOPES_LIMIT_BYTES = 8 << 10 };

static void add_candidate(struct oauth_candidates *candidates, const char *url)
{
	for (size_t i = 0; i < candidates->count; i++)
		if (!strcmp(candidates->urls[i], url))
			return;
	candidates->urls[candidates->count++] = url;
}

/* A path without the slash at its end; "" for the root. */
static const char *bare_path(struct arena *arena, const char *path)
{
	size_t n = strlen(path);

	return arena_dup(arena, path, path[n - 1] == '/' ? n - 1 : n);
}

int oauth_resource_candidates(struct arena *arena, const char *server_url, const char *given,
			      struct oauth_candidates *ret_candidates, struct err *err)
{
	struct oauth_url url;

	int rc = oauth_url_parse(arena, server_url, &url, err);
	if (rc < 0)
		return rc;
	const char *root = arena_printf(arena, "%s/.well-known/oauth-protected-resource", url.origin);
	*ret_candidates = (struct oauth_candidates){ 0 };
	if (given)
		add_candidate(ret_candidates, given);
	add_candidate(ret_candidates, arena_printf(arena, "%s%s", root, bare_path(arena, url.path)));
	add_candidate(ret_candidates, root);
	return 0;
}

int oauth_issuer_candidates(struct arena *arena, const char *issuer, struct oauth_candidates *ret_candidates,
			    struct err *err)
{
	struct oauth_url url;

	int rc = oauth_url_parse(arena, issuer, &url, err);
	if (rc < 0)
		return rc;
	const char *known = arena_printf(arena, "%s/.well-known", url.origin);
	const char *path = bare_path(arena, url.path);
	*ret_candidates = (struct oauth_candidates){ 0 };
	add_candidate(ret_candidates, arena_printf(arena, "%s/oauth-authorization-server%s", known, path));
	add_candidate(ret_candidates, arena_printf(arena, "%s/openid-configuration%s", known, path));
	add_candidate(ret_candidates, arena_printf(arena, "%s%s/.well-known/openid-configuration", url.origin, path));
	return 0;
}

static int parse_document(struct json_reader *reader, struct str document, const struct json **ret_root,
			  struct err *err)
{
	reader->limits = (struct json_limits){ OAUTH_DOCUMENT_BYTES, DOCUMENT_DEPTH };
	int rc = json_parse(reader, document.p, document.n, ret_root, err);
	if (rc < 0)
		return rc;
	return json_is(*ret_root, JSON_OBJECT) ? 0 : err_set(err, ERR_PARSE, "not a JSON object");
}

/* A list of texts with spaces between them. NULL: there is none. */
static const char *join_texts(struct arena *arena, const struct json *list)
{
	AUTO_BUF struct buf text = { 0 };

	if (!json_is(list, JSON_ARRAY))
		return NULL;
	for (const struct json *v = json_first(list); v && text.n < SCOPES_LIMIT_BYTES; v = json_next(list, v)) {
		struct str one = json_str(v, arena);
		if (text.n && one.n)
			buf_addch(&text, ' ');
		buf_append(&text, one);
	}
	return arena_dup(arena, text.n ? text.p : "", text.n);
}

static bool list_contains(const struct json *list, const char *word)
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

	int rc = parse_document(&reader, document, &root, err);
	if (rc < 0)
		return rc;
	struct oauth_resource r = {
		.resource = json_cstr(json_get(root, "resource"), arena),
		.issuer = json_cstr(json_first(json_get(root, "authorization_servers")), arena),
		.scopes = join_texts(arena, json_get(root, "scopes_supported")),
	};
	if (!r.resource || !r.issuer)
		return err_set(err, ERR_PROTOCOL, "resource or authorization_servers is missing");
	if (!oauth_url_covers(r.resource, server_url))
		return err_set(err, ERR_DENIED, "its resource is %.80s, not this server", r.resource);
	*ret_resource = r;
	return 0;
}

/* The required issuer, PKCE, and allowed URLs. */
static int check_issuer(const struct oauth_issuer *i, const char *wanted, const struct json *pkce,
			bool loopback_allowed, struct err *err)
{
	const struct {
		const char *name, *url;
	} urls[] = {
		{ "authorization_endpoint", i->authorize_url },
		{ "token_endpoint", i->token_url },
		{ "registration_endpoint", i->register_url },
	};
	struct str a = str_from(wanted);
	struct str b = str_from(i->issuer);

	a.n -= a.n && a.p[a.n - 1] == '/';
	b.n -= b.n && b.p[b.n - 1] == '/';
	if (!i->token_url)
		return err_set(err, ERR_PROTOCOL, "token_endpoint is missing");
	if (wanted && (!i->issuer || !str_eq(a, b)))
		return err_set(err, ERR_DENIED, "its issuer is %.60s, not %.60s", i->issuer ? i->issuer : "(none)",
			       wanted);
	if (json_is(pkce, JSON_ARRAY) && !list_contains(pkce, "S256"))
		return err_set(err, ERR_DENIED, "the authorisation server does not support PKCE with S256");
	for (size_t n = 0; n < COUNT_OF(urls); n++) {
		int rc = urls[n].url ? oauth_url_check(urls[n].url, loopback_allowed, urls[n].name, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int oauth_issuer_read(struct arena *arena, struct str document, const char *issuer, bool loopback_allowed,
		      struct oauth_issuer *ret_issuer, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	int rc = parse_document(&reader, document, &root, err);
	if (rc < 0)
		return rc;
	const struct json *grants = json_get(root, "grant_types_supported");
	const struct json *methods = json_get(root, "token_endpoint_auth_methods_supported");
	struct oauth_issuer i = {
		.issuer = json_cstr(json_get(root, "issuer"), arena),
		.authorize_url = json_cstr(json_get(root, "authorization_endpoint"), arena),
		.token_url = json_cstr(json_get(root, "token_endpoint"), arena),
		.register_url = json_cstr(json_get(root, "registration_endpoint"), arena),
		.scopes = join_texts(arena, json_get(root, "scopes_supported")),
		.code_grant = !json_is(grants, JSON_ARRAY) || list_contains(grants, "authorization_code"),
		.client_credentials = list_contains(grants, "client_credentials"),
		.client_documents = json_bool(json_get(root, "client_id_metadata_document_supported")),
		.says_issuer = json_bool(json_get(root, "authorization_response_iss_parameter_supported")),
	};
	for (const struct json *v = json_first(methods); v; v = json_next(methods, v)) {
		enum oauth_method method;
		if (oauth_method_find(json_str(v, arena), &method))
			i.methods |= 1u << method;
	}
	rc = check_issuer(&i, issuer, json_get(root, "code_challenge_methods_supported"), loopback_allowed, err);
	if (rc == 0)
		*ret_issuer = i;
	return rc;
}

/* AUTH_AGAIN: there is none left. */
static int fetch_next_candidate(struct auth_flow *f, const char *what)
{
	f->err = (struct err){ 0 };
	if (f->candidate >= f->candidates.count)
		return AUTH_AGAIN;
	const char *url = f->candidates.urls[f->candidate++];
	int rc = oauth_url_check(url, f->loopback_allowed, what, &f->err);
	if (rc < 0)
		return rc;
	auth_flow_fetch(f, &(struct oauth_request){ .url = url, .redirects = OAUTH_ORIGIN });
	return AUTH_WAIT;
}

/* -ERR_PARSE: the candidate has no document. A server error is an error: its answer must not be guessed. */
static int take_document(struct auth_flow *f, struct str *ret_document)
{
	int status = 0;

	int rc = oauth_fetch_answer(f->fetch, &status, ret_document, &f->err);
	if (rc < 0)
		return rc;
	if (status >= 500)
		return err_set(&f->err, ERR_IO, "%.120s: status %d", f->candidates.urls[f->candidate - 1], status);
	return status == 200 ? 0 : -ERR_PARSE;
}

static int look_for_issuer(struct auth_flow *f, const char *issuer)
{
	const char *given = f->server->oauth.metadata_url;

	f->candidate = 0;
	f->candidates = (struct oauth_candidates){ .urls = { given }, .count = 1 };
	int rc = given ? 0 : oauth_issuer_candidates(&f->arena, issuer, &f->candidates, &f->err);
	return rc < 0 ? rc : (int)auth_flow_enter(f, AUTH_ISSUER);
}

/* A document that is not JSON counts as missing: some servers answer every path with an HTML page. */
int auth_step_resource(struct auth_flow *f)
{
	struct str document;
	struct oauth_url url;
	int rc;

	if (!f->fetch) {
		rc = oauth_resource_candidates(&f->arena, f->server->url, f->challenge.metadata_url, &f->candidates,
					       &f->err);
		if (rc < 0)
			return rc;
	} else {
		rc = take_document(f, &document);
		if (rc < 0 && rc != -ERR_PARSE)
			return rc;
		if (rc == 0)
			rc = oauth_resource_read(&f->arena, document, f->server->url, &f->resource, &f->err);
		f->has_resource = rc == 0;
		if (rc == 0)
			return look_for_issuer(f, f->resource.issuer);
		if (rc != -ERR_PARSE)
			return err_wrap(&f->err, "%.100s", f->candidates.urls[f->candidate - 1]);
	}
	rc = fetch_next_candidate(f, "metadata of the server");
	if (rc != AUTH_AGAIN)
		return rc;
	/* A server without a document is its own authorisation server, as in 2025-03-26. */
	rc = oauth_url_parse(&f->arena, f->server->url, &url, &f->err);
	return rc < 0 ? rc : look_for_issuer(f, url.origin);
}

int auth_step_issuer(struct auth_flow *f)
{
	bool configured = f->server->oauth.metadata_url;
	const char *wanted = f->has_resource && !configured ? f->resource.issuer : NULL;
	struct str document;
	struct oauth_url url;
	int rc;

	if (f->fetch) {
		rc = take_document(f, &document);
		if (rc < 0 && rc != -ERR_PARSE)
			return rc;
		if (rc == 0)
			rc = oauth_issuer_read(&f->arena, document, wanted, f->loopback_allowed, &f->issuer, &f->err);
		if (rc == 0)
			return auth_flow_enter(f, AUTH_CLIENT);
		if (rc != -ERR_PARSE)
			return err_wrap(&f->err, "%.100s", f->candidates.urls[f->candidate - 1]);
	}
	rc = fetch_next_candidate(f, "authorisation server");
	if (rc != AUTH_AGAIN)
		return rc;
	if (f->has_resource || configured)
		return err_set(&f->err, ERR_NOT_FOUND, "no metadata of the authorisation server at %.160s",
			       f->candidates.urls[0]);
	/* Without a document, by the rules of 2025-03-26: fixed paths at the origin. */
	rc = oauth_url_parse(&f->arena, f->server->url, &url, &f->err);
	if (rc < 0)
		return rc;
	f->issuer = (struct oauth_issuer){
		.issuer = url.origin,
		.authorize_url = arena_printf(&f->arena, "%s/authorize", url.origin),
		.token_url = arena_printf(&f->arena, "%s/token", url.origin),
		.register_url = arena_printf(&f->arena, "%s/register", url.origin),
		.code_grant = true,
	};
	return auth_flow_enter(f, AUTH_CLIENT);
}
