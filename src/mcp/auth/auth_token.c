/* SPDX-License-Identifier: MIT
 * auth_token.c - RENEW, IDENTITY and GRANT: the states that talk to a token endpoint. */
#include "lib/base/id.h"
#include "mcp/auth/auth_flow_int.h"
#include "mcp/auth/oauth_form.h"
#include "mcp/auth/oauth_store.h"
#include "mcp/auth/oauth_url.h"

static const char form_type[] = "application/x-www-form-urlencoded";

/* Posts the form with what proves who we are. */
static int post_form(struct auth_flow *f, const struct oauth_grant *g, struct buf *form)
{
	const char *header;

	oauth_form_add(form, "resource", g->resource);
	int rc = oauth_client_prove(&g->client, g->issuer, &f->arena, form, &header, &f->err);
	if (rc == 0)
		auth_post(f, g->token_url, form_type, header, buf_str(form));
	return rc;
}

/* ---- RENEW ---- */

/* Another process may have renewed the token, or a person signed in there: then its token is ours. */
static bool take_from_store(struct auth_flow *f)
{
	struct oauth_grant *stored = NULL;

	if (!f->world->auth_file || oauth_store_get(f->world->auth_file, f->store_key, &stored, NULL) < 0 || !stored)
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

static enum auth_step start_renew(struct auth_flow *f)
{
	AUTO_BUF struct buf form = { 0 };

	if (take_from_store(f))
		return auth_go(f, AUTH_END);
	if (!f->renew)
		return auth_go(f, AUTH_RESOURCE);
	f->had->client.private_key = f->server->oauth.private_key;
	oauth_form_add(&form, "grant_type", "refresh_token");
	oauth_form_add(&form, "refresh_token", f->had->token.refresh);
	/* The file may have been edited: its address is a stranger's word as well. */
	if (oauth_url_check(f->had->token_url, f->loopback_allowed, "token_endpoint", &f->err) < 0 ||
	    post_form(f, f->had, &form) < 0)
		return auth_fail(f);
	return AUTH_WAIT;
}

/* The refresh token is worth nothing: from the beginning, unless nobody wants to be asked now. */
static enum auth_step go_without(struct auth_flow *f)
{
	if (take_from_store(f))
		return auth_go(f, AUTH_END);
	f->refresh_refused = true;
	if (f->only_renew)
		return auth_fail(f);
	f->err = (struct err){ 0 };
	return auth_go(f, AUTH_RESOURCE);
}

enum auth_step auth_step_renew(struct auth_flow *f)
{
	int status = 0;
	struct str answer;
	const char *refused = "";

	if (!f->fetch)
		return start_renew(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (oauth_fetch_answer(f->fetch, &status, &answer, &f->err) < 0)
		return auth_fail(f);
	if (status >= 500) {
		err_set(&f->err, ERR_IO, "the token endpoint answered with status %d", status);
		return auth_fail(f);
	}
	f->grant = *f->had;
	if (oauth_token_read(&f->arena, status, answer, f->had->token.scope, f->had->token.refresh, &f->grant.token,
			     &refused, &f->err) < 0) {
		f->client_is_gone = !strcmp(refused, "invalid_client");
		return go_without(f);
	}
	f->renewed = true;
	return auth_go(f, AUTH_END);
}

/* ---- IDENTITY ---- */

static enum auth_step start_identity(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;
	AUTO_BUF struct buf form = { 0 };

	if (oauth_url_check(o->idp_token_url, f->loopback_allowed, "oauth.idpTokenUrl", &f->err) < 0)
		return auth_fail(f);
	oauth_form_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
	oauth_form_add(&form, "requested_token_type", "urn:ietf:params:oauth:token-type:id-jag");
	oauth_form_add(&form, "subject_token_type", "urn:ietf:params:oauth:token-type:id_token");
	oauth_form_add(&form, "subject_token", o->idp_token);
	oauth_form_add(&form, "audience", f->grant.issuer);
	oauth_form_add(&form, "resource", f->grant.resource);
	oauth_form_add(&form, "scope", f->grant.scope);
	oauth_form_add(&form, "client_id", o->idp_client_id);
	auth_post(f, o->idp_token_url, form_type, NULL, buf_str(&form));
	return AUTH_WAIT;
}

enum auth_step auth_step_identity(struct auth_flow *f)
{
	int status = 0;
	struct str answer;

	if (!f->fetch)
		return start_identity(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0)
		rc = oauth_assertion_read(&f->arena, status, answer, &f->code, &f->err);
	if (rc < 0) {
		err_wrap(&f->err, "identity provider");
		return auth_fail(f);
	}
	return auth_go(f, AUTH_GRANT);
}

/* ---- GRANT ---- */

static void write_grant(struct auth_flow *f, struct buf *form)
{
	switch (f->kind) {
	case AUTH_CODE:
		oauth_form_add(form, "grant_type", "authorization_code");
		oauth_form_add(form, "code", f->code);
		oauth_form_add(form, "code_verifier", f->verifier);
		oauth_form_add(form, "redirect_uri", auth_redirect(f));
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
static enum auth_step register_again(struct auth_flow *f)
{
	f->client_is_gone = true;
	f->verifier = f->code = NULL;
	f->err = (struct err){ 0 };
	oauth_callback_close(f->callback);
	f->callback = NULL;
	return auth_go(f, AUTH_CLIENT);
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
		write_grant(f, &form);
		return post_form(f, &f->grant, &form) < 0 ? auth_fail(f) : AUTH_WAIT;
	}
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (oauth_fetch_answer(f->fetch, &status, &answer, &f->err) < 0)
		return auth_fail(f);
	if (oauth_token_read(&f->arena, status, answer, f->grant.scope, NULL, &f->grant.token, &refused, &f->err) < 0)
		return !strcmp(refused, "invalid_client") && is_old_client(f) ? register_again(f) : auth_fail(f);
	return auth_go(f, AUTH_END);
}
