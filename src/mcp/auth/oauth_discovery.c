/* SPDX-License-Identifier: MIT
 * oauth_discovery.c - reads challenges and metadata documents, and has the states of a flow that look for them: RESOURCE and
 * ISSUER. */
#include "mcp/auth/oauth_discovery.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_http.h"

/* ---- WWW-Authenticate: SCHEME name=value, name="value", SCHEME ... A word is a scheme if no '=' follows it ---- */

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

static void set_once(const char **place, const char *text)
{
	if (!*place && text[0])
		*place = text;
}

static void challenge_set(struct oauth_challenge *c, struct str name, const char *text)
{
	if (str_is_nocase(name, "resource_metadata"))
		set_once(&c->metadata_url, text);
	else if (str_is_nocase(name, "scope"))
		set_once(&c->scope, text);
	else if (str_is_nocase(name, "error"))
		set_once(&c->error, text);
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
			str_cut(&r.rest, ','); /* no list of parameters: the credentials of some other scheme */
			continue;
		}
		challenge_skip(&r, " \t");
		if (r.rest.n && r.rest.p[0] == '=') {
			challenge_skip(&r, "=");
			const char *text = challenge_value(&r);
			if (is_bearer)
				challenge_set(&c, word, text);
		} else if (is_bearer) {
			return c;
		} else {
			is_bearer = str_is_nocase(word, "Bearer");
		}
	}
}

enum { DOCUMENT_DEPTH = 32, SCOPES_LIMIT_BYTES = 8 << 10 };

/* ---- candidates ---- */

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

/* ---- documents ---- */

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
		buf_add(&text, one.p, one.n);
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

static unsigned read_methods(const struct json *list, struct arena *arena)
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
		return err_set(err, ERR_DENIED, "its issuer is %.60s, not %.60s", i->issuer ? i->issuer : "(none)",
			       wanted);
	if (json_is(pkce, JSON_ARRAY) && !list_contains(pkce, "S256"))
		return err_set(err, ERR_DENIED, "the authorisation server does not support PKCE with S256");
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
	struct oauth_issuer i = {
		.issuer = json_cstr(json_get(root, "issuer"), arena),
		.authorize_url = json_cstr(json_get(root, "authorization_endpoint"), arena),
		.token_url = json_cstr(json_get(root, "token_endpoint"), arena),
		.register_url = json_cstr(json_get(root, "registration_endpoint"), arena),
		.scopes = join_texts(arena, json_get(root, "scopes_supported")),
		.methods = read_methods(json_get(root, "token_endpoint_auth_methods_supported"), arena),
		.code_grant = !json_is(grants, JSON_ARRAY) || list_contains(grants, "authorization_code"),
		.client_credentials = list_contains(grants, "client_credentials"),
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

/* Without a document, by the rules of 2025-03-26: fixed paths at the origin. */
static int oauth_issuer_default(struct arena *arena, const char *server_url, struct oauth_issuer *ret_issuer,
				struct err *err)
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

/* ---- RESOURCE and ISSUER ---- */

/* Tries the next candidate; *ret_found is false if there is none left. */
static int fetch_next_candidate(struct auth_flow *f, const char *what, bool *ret_found)
{
	*ret_found = f->candidate < f->candidates.count;
	if (!*ret_found)
		return 0;
	const char *url = f->candidates.urls[f->candidate++];
	int rc = oauth_url_check(url, f->loopback_allowed, what, &f->err);
	if (rc == 0)
		auth_flow_get(f, url);
	return rc;
}

/* What the candidate has; p NULL: nothing. A server error is an error: its answer must not be guessed. */
static int take_document(struct auth_flow *f, struct str *ret_document)
{
	int status = 0;

	*ret_document = (struct str){ 0 };
	int rc = oauth_fetch_answer(f->fetch, &status, ret_document, &f->err);
	if (rc < 0)
		return rc;
	if (status >= 500)
		return err_set(&f->err, ERR_IO, "%.120s: status %d", f->candidates.urls[f->candidate - 1], status);
	if (status != 200)
		*ret_document = (struct str){ 0 };
	return 0;
}

/* A document that is not JSON counts as missing: some servers answer every path with an HTML page. */

/* ---- the server ---- */

static enum auth_step look_for_issuer(struct auth_flow *f, const char *issuer)
{
	const char *given = f->server->oauth.metadata_url;

	f->candidate = 0;
	f->candidates = (struct oauth_candidates){ .urls = { given }, .count = 1 };
	if (!given && oauth_issuer_candidates(&f->arena, issuer, &f->candidates, &f->err) < 0)
		return auth_flow_fail(f);
	return auth_flow_enter(f, AUTH_ISSUER);
}

/* A server without a document: it is its own authorisation server, as in 2025-03-26. */
static enum auth_step use_server_as_issuer(struct auth_flow *f)
{
	struct oauth_url url;

	if (oauth_url_parse(&f->arena, f->server->url, &url, &f->err) < 0)
		return auth_flow_fail(f);
	return look_for_issuer(f, url.origin);
}

static enum auth_step resource_try_next(struct auth_flow *f)
{
	bool found;

	f->err = (struct err){ 0 };
	if (fetch_next_candidate(f, "metadata of the server", &found) < 0)
		return auth_flow_fail(f);
	return found ? AUTH_WAIT : use_server_as_issuer(f);
}

enum auth_step auth_step_resource(struct auth_flow *f)
{
	struct str document;

	if (!f->fetch) {
		if (oauth_resource_candidates(&f->arena, f->server->url, f->challenge.metadata_url, &f->candidates,
					      &f->err) < 0)
			return auth_flow_fail(f);
		return resource_try_next(f);
	}
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (take_document(f, &document) < 0)
		return auth_flow_fail(f);
	if (!document.p)
		return resource_try_next(f);
	int rc = oauth_resource_read(&f->arena, document, f->server->url, &f->resource, &f->err);
	if (rc == -ERR_PARSE)
		return resource_try_next(f);
	if (rc < 0) {
		err_wrap(&f->err, "%.100s", f->candidates.urls[f->candidate - 1]);
		return auth_flow_fail(f);
	}
	f->has_resource = true;
	return look_for_issuer(f, f->resource.issuer);
}

/* ---- its authorisation server ---- */

static enum auth_step use_default_issuer(struct auth_flow *f)
{
	if (f->has_resource || f->server->oauth.metadata_url) {
		err_set(&f->err, ERR_NOT_FOUND, "no metadata of the authorisation server at %.160s",
			f->candidates.urls[0]);
		return auth_flow_fail(f);
	}
	if (oauth_issuer_default(&f->arena, f->server->url, &f->issuer, &f->err) < 0)
		return auth_flow_fail(f);
	return auth_flow_enter(f, AUTH_CLIENT);
}

static enum auth_step issuer_try_next(struct auth_flow *f)
{
	bool found;

	f->err = (struct err){ 0 };
	if (fetch_next_candidate(f, "authorisation server", &found) < 0)
		return auth_flow_fail(f);
	return found ? AUTH_WAIT : use_default_issuer(f);
}

enum auth_step auth_step_issuer(struct auth_flow *f)
{
	struct str document;

	if (!f->fetch)
		return issuer_try_next(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (take_document(f, &document) < 0)
		return auth_flow_fail(f);
	if (!document.p)
		return issuer_try_next(f);
	const char *wanted = f->has_resource && !f->server->oauth.metadata_url ? f->resource.issuer : NULL;
	int rc = oauth_issuer_read(&f->arena, document, wanted, f->loopback_allowed, &f->issuer, &f->err);
	if (rc == -ERR_PARSE)
		return issuer_try_next(f);
	if (rc < 0) {
		err_wrap(&f->err, "%.100s", f->candidates.urls[f->candidate - 1]);
		return auth_flow_fail(f);
	}
	return auth_flow_enter(f, AUTH_CLIENT);
}
