/* SPDX-License-Identifier: MIT
 * oauth_token.c - scopes, tokens as they come from a token endpoint, and the states of a flow that use one: RENEW, IDENTITY and
 * GRANT. */
#include "mcp/auth/oauth_token.h"
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_store.h"

/* ---- scopes: they are short, so they stay text ---- */

/* The next scope; false at the end. */
static bool next_scope(struct str *rest, struct str *ret_one)
{
	while (rest->p) {
		*ret_one = str_cut(rest, ' ');
		if (ret_one->n)
			return true;
	}
	return false;
}

bool oauth_scope_has(const char *scopes, struct str one)
{
	struct str rest = str_from(scopes);
	struct str scope;

	while (next_scope(&rest, &scope))
		if (str_eq(scope, one))
			return true;
	return false;
}

bool oauth_scope_covers(const char *scopes, const char *wanted)
{
	struct str rest = str_from(wanted);
	struct str one;

	while (next_scope(&rest, &one))
		if (!oauth_scope_has(scopes, one))
			return false;
	return true;
}

/* Those that out does not have yet and that are not `without`. */
static void add_scopes(struct buf *out, const char *scopes, struct str without)
{
	struct str rest = str_from(scopes);
	struct str one;

	while (next_scope(&rest, &one)) {
		if (str_eq(one, without) || oauth_scope_has(out->p, one))
			continue;
		if (out->n)
			buf_addch(out, ' ');
		buf_add(out, one.p, one.n);
	}
}

static const char *kept_scopes(struct arena *arena, const struct buf *text)
{
	return text->n ? arena_dup(arena, text->p, text->n) : NULL;
}

const char *oauth_scope_union(struct arena *arena, const char *a, const char *b)
{
	AUTO_BUF struct buf text = { 0 };

	add_scopes(&text, a, STR(""));
	add_scopes(&text, b, STR(""));
	return kept_scopes(arena, &text);
}

const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one)
{
	AUTO_BUF struct buf text = { 0 };

	add_scopes(&text, scopes, one);
	return kept_scopes(arena, &text);
}

/* ---- answers of a token endpoint ---- */

enum {
	ANSWER_BYTES = 256 << 10,
	ANSWER_DEPTH = 32,
	EARLY_MS = 60 * 1000, /* so much before its end a token is renewed, or after three quarters of a short life */
	LIFE_LIMIT_S = 10 * 365 * 24 * 3600,
};

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

struct oauth_grant *oauth_grant_copy(const struct oauth_grant *g)
{
	struct oauth_grant *c = xcalloc(1, sizeof *c);
	struct arena *arena = &c->arena;

	c->issuer = copy_text(arena, g->issuer);
	c->token_url = copy_text(arena, g->token_url);
	c->resource = copy_text(arena, g->resource);
	c->scope = copy_text(arena, g->scope);
	c->client = g->client;
	c->client.id = copy_text(arena, g->client.id);
	c->client.secret = copy_text(arena, g->client.secret);
	c->client.private_key = copy_text(arena, g->client.private_key);
	c->token = g->token;
	c->token.access = copy_text(arena, g->token.access);
	c->token.refresh = copy_text(arena, g->token.refresh);
	c->token.scope = copy_text(arena, g->token.scope);
	return c;
}

void oauth_grant_free(struct oauth_grant *g)
{
	if (!g)
		return;
	arena_release(&g->arena);
	free(g);
}

/* Used in a header verbatim. */
static bool is_visible(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return text[0] != '\0';
}

/* Untrusted text in an error: one short line. */
static const char *printable(struct arena *arena, struct str text, size_t most)
{
	char *copied = arena_dup(arena, text.n ? text.p : "", MIN(text.n, most));

	for (char *c = copied; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return copied;
}

static int token_refused(struct arena *arena, int status, const struct json *root, const char **ret_refused,
			 struct err *err)
{
	struct str word = json_str(json_get(root, "error"), arena);
	struct str why = json_str(json_get(root, "error_description"), arena);

	if (!word.n)
		return err_set(err, ERR_PROTOCOL, "the token endpoint answered with status %d", status);
	const char *refused = printable(arena, word, 40);
	if (ret_refused)
		*ret_refused = refused;
	return err_set(err, ERR_DENIED, "token endpoint error: %s%s%s", refused, why.n ? ": " : "",
		       printable(arena, why, 120));
}

/* NULL: not JSON */
static const struct json *parse_answer(struct json_reader *reader, struct str answer)
{
	const struct json *root = NULL;

	reader->limits = (struct json_limits){ ANSWER_BYTES, ANSWER_DEPTH };
	return json_parse(reader, answer.p, answer.n, &root, NULL) < 0 ? NULL : root;
}

int oauth_token_read(struct arena *arena, int status, struct str answer, const char *asked, const char *old_refresh,
		     struct oauth_token *ret_token, const char **ret_refused, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = parse_answer(&reader, answer);
	const char *access = json_cstr(json_get(root, "access_token"), arena);

	if (status < 200 || status > 299 || !access)
		return token_refused(arena, status, root, ret_refused, err);
	struct str type = json_str(json_get(root, "token_type"), arena);
	const char *scope = json_cstr(json_get(root, "scope"), arena);
	const char *refresh = json_cstr(json_get(root, "refresh_token"), arena);
	if (!is_visible(access) || (type.n && !str_is_nocase(type, "Bearer")))
		return err_set(err, ERR_PROTOCOL, "the token is not a bearer token");
	struct oauth_token token = {
		.access = access,
		.refresh = refresh && refresh[0] ? refresh : old_refresh,
		.scope = scope && scope[0] ? scope : asked,
	};
	const struct json *life = json_get(root, "expires_in");
	int64_t seconds = 0;
	if (json_i64(life, &seconds) || str_to_i64(json_str(life, arena), &seconds)) {
		int64_t life_ms = MAX(0, MIN(seconds, LIFE_LIMIT_S)) * 1000;
		token.expires_ms = id_wall_ms() + life_ms;
		token.renew_ms = token.expires_ms - MIN(EARLY_MS, life_ms / 4);
	}
	if (!token.refresh)
		token.renew_ms = 0;
	*ret_token = token;
	return 0;
}

/* The answer of an identity provider: an assertion for another token endpoint. */
static int oauth_assertion_read(struct arena *arena, int status, struct str answer, const char **ret_assertion,
				struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = parse_answer(&reader, answer);
	const char *assertion = json_cstr(json_get(root, "access_token"), arena);

	if (status < 200 || status > 299 || !assertion)
		return token_refused(arena, status, root, NULL, err);
	*ret_assertion = assertion;
	return 0;
}

static const char form_type[] = "application/x-www-form-urlencoded";

/* Posts the form with client authentication. */
static int post_token_form(struct auth_flow *f, const struct oauth_grant *g, struct buf *form)
{
	const char *header;

	oauth_form_add(form, "resource", g->resource);
	int rc = oauth_client_prove(&g->client, g->issuer, &f->arena, form, &header, &f->err);
	if (rc == 0)
		auth_flow_post(f, g->token_url, form_type, header, buf_str(form));
	return rc;
}

/* ---- RENEW ---- */

/* Another process may have renewed the token, or a person signed in there: then its token is ours. */
static bool take_from_store(struct auth_flow *f)
{
	struct oauth_grant *stored = NULL;

	if (!f->env->auth_file || oauth_store_get(f->env->auth_file, f->store_key, &stored, NULL) < 0 || !stored)
		return false;
	const char *mine = f->had && f->had->token.access ? f->had->token.access : "";
	bool newer = stored->token.access && strcmp(stored->token.access, mine) != 0 &&
		     (!stored->token.expires_ms || stored->token.expires_ms > id_wall_ms());
	if (newer) {
		oauth_grant_free(f->had);
		f->had = TAKE(stored);
		f->grant = *f->had;
	}
	oauth_grant_free(stored);
	return newer;
}

static enum auth_step renew_start(struct auth_flow *f)
{
	AUTO_BUF struct buf form = { 0 };

	if (take_from_store(f))
		return auth_flow_enter(f, AUTH_END);
	if (!f->renew)
		return auth_flow_enter(f, AUTH_RESOURCE);
	f->had->client.private_key = f->server->oauth.private_key;
	oauth_form_add(&form, "grant_type", "refresh_token");
	oauth_form_add(&form, "refresh_token", f->had->token.refresh);
	/* The file may have been edited, so its URL is untrusted too. */
	if (oauth_url_check(f->had->token_url, f->loopback_allowed, "token_endpoint", &f->err) < 0 ||
	    post_token_form(f, f->had, &form) < 0)
		return auth_flow_fail(f);
	return AUTH_WAIT;
}

enum auth_step auth_step_renew(struct auth_flow *f)
{
	int status = 0;
	struct str answer;
	const char *refused = "";

	if (!f->fetch)
		return renew_start(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (oauth_fetch_answer(f->fetch, &status, &answer, &f->err) < 0)
		return auth_flow_fail(f);
	if (status >= 500) {
		err_set(&f->err, ERR_IO, "the token endpoint answered with status %d", status);
		return auth_flow_fail(f);
	}
	f->grant = *f->had;
	if (oauth_token_read(&f->arena, status, answer, f->had->token.scope, f->had->token.refresh, &f->grant.token,
			     &refused, &f->err) < 0) {
		f->client_is_gone = !strcmp(refused, "invalid_client");
		/* The refresh token is invalid: starts a new sign-in, unless this run may not ask. */
		if (take_from_store(f))
			return auth_flow_enter(f, AUTH_END);
		f->refresh_refused = true;
		if (f->only_renew)
			return auth_flow_fail(f);
		f->err = (struct err){ 0 };
		return auth_flow_enter(f, AUTH_RESOURCE);
	}
	f->renewed = true;
	return auth_flow_enter(f, AUTH_END);
}

/* ---- IDENTITY ---- */

static enum auth_step identity_start(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;
	AUTO_BUF struct buf form = { 0 };

	if (oauth_url_check(o->idp_token_url, f->loopback_allowed, "oauth.idpTokenUrl", &f->err) < 0)
		return auth_flow_fail(f);
	oauth_form_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
	oauth_form_add(&form, "requested_token_type", "urn:ietf:params:oauth:token-type:id-jag");
	oauth_form_add(&form, "subject_token_type", "urn:ietf:params:oauth:token-type:id_token");
	oauth_form_add(&form, "subject_token", o->idp_token);
	oauth_form_add(&form, "audience", f->grant.issuer);
	oauth_form_add(&form, "resource", f->grant.resource);
	oauth_form_add(&form, "scope", f->grant.scope);
	oauth_form_add(&form, "client_id", o->idp_client_id);
	auth_flow_post(f, o->idp_token_url, form_type, NULL, buf_str(&form));
	return AUTH_WAIT;
}

enum auth_step auth_step_identity(struct auth_flow *f)
{
	int status = 0;
	struct str answer;

	if (!f->fetch)
		return identity_start(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0)
		rc = oauth_assertion_read(&f->arena, status, answer, &f->code, &f->err);
	if (rc < 0) {
		err_wrap(&f->err, "identity provider");
		return auth_flow_fail(f);
	}
	return auth_flow_enter(f, AUTH_GRANT);
}

/* ---- GRANT ---- */

static void write_grant_form(struct auth_flow *f, struct buf *form)
{
	switch (f->kind) {
	case AUTH_CODE:
		oauth_form_add(form, "grant_type", "authorization_code");
		oauth_form_add(form, "code", f->code);
		oauth_form_add(form, "code_verifier", f->verifier);
		oauth_form_add(form, "redirect_uri", auth_flow_redirect_uri(f));
		break;
	case AUTH_CLIENT_CREDENTIALS:
		oauth_form_add(form, "grant_type", "client_credentials");
		oauth_form_add(form, "scope", f->grant.scope);
		break;
	case AUTH_ASSERTION:
		oauth_form_add(form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
		oauth_form_add(form, "assertion", f->code);
		oauth_form_add(form, "scope", f->grant.scope);
		break;
	}
}

/* A client that was registered earlier may have been forgotten there. */
static enum auth_step grant_register_again(struct auth_flow *f)
{
	f->client_is_gone = true;
	f->verifier = f->code = NULL;
	f->err = (struct err){ 0 };
	oauth_callback_close(f->callback);
	f->callback = NULL;
	return auth_flow_enter(f, AUTH_CLIENT);
}

static bool is_old_client(const struct auth_flow *f)
{
	return f->had && f->grant.client.registered && f->grant.client.id == f->had->client.id;
}

enum auth_step auth_step_grant(struct auth_flow *f)
{
	AUTO_BUF struct buf form = { 0 };
	int status = 0;
	struct str answer;
	const char *refused = "";

	if (!f->fetch) {
		write_grant_form(f, &form);
		return post_token_form(f, &f->grant, &form) < 0 ? auth_flow_fail(f) : AUTH_WAIT;
	}
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (oauth_fetch_answer(f->fetch, &status, &answer, &f->err) < 0)
		return auth_flow_fail(f);
	if (oauth_token_read(&f->arena, status, answer, f->grant.scope, NULL, &f->grant.token, &refused, &f->err) < 0)
		return !strcmp(refused, "invalid_client") && is_old_client(f) ? grant_register_again(f)
									      : auth_flow_fail(f);
	return auth_flow_enter(f, AUTH_END);
}
