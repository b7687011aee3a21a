/* SPDX-License-Identifier: MIT
 * auth_client.c - CLIENT and REGISTER: who we are for this authorisation server, and what we ask it for. */
#include "lib/base/id.h"
#include "mcp/auth/auth_flow_int.h"
#include "mcp/auth/oauth_pkce.h"
#include "mcp/auth/oauth_scope.h"
#include "config/settings/env_switch.h"

/* ---- scopes ---- */

static const char offline[] = "offline_access";

/* It is what refresh tokens are had for, where the authorisation server knows it; elsewhere it would be an error. */
static const char *with_offline(struct auth_flow *f, const char *scope)
{
	struct str name = { offline, sizeof offline - 1 };

	if (!scope || !f->issuer.scopes)
		return scope;
	if (oauth_scope_has(f->issuer.scopes, name))
		return oauth_scope_union(&f->arena, scope, offline);
	return oauth_scope_without(&f->arena, scope, name);
}

static const char *wanted_scope(struct auth_flow *f)
{
	const char *scope = f->server->oauth.scopes;

	if (!scope)
		scope = f->challenge.scope ? f->challenge.scope : f->resource.scopes;
	if (f->more && f->had) {
		scope = oauth_scope_union(&f->arena, f->had->token.scope, scope);
		scope = oauth_scope_union(&f->arena, scope, f->challenge.scope);
	}
	return with_offline(f, oauth_scope_union(&f->arena, scope, NULL));
}

/* ---- who we are ---- */

static bool is_document(const char *client_id)
{
	return !strncmp(client_id, "https://", strlen("https://"));
}

/* The id that stands in the configuration. False: there is none, or it means nothing to this server. */
static bool use_configured(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;

	if (!o->client_id || (is_document(o->client_id) && !f->issuer.client_documents))
		return false;
	f->grant.client = (struct oauth_client){
		.id = o->client_id,
		.secret = o->client_secret,
		.private_key = o->private_key,
	};
	f->grant.client.method = oauth_client_method(&f->grant.client, f->issuer.methods);
	return true;
}

/* One that we registered before. */
static bool has_registered(const struct auth_flow *f)
{
	const struct oauth_grant *had = f->had;

	return had && had->client.registered && !f->client_is_gone && !strcmp(had->issuer, f->grant.issuer) &&
	       (!had->client.expires_ms || had->client.expires_ms > id_wall_ms());
}

static bool needs_person(const struct auth_flow *f)
{
	return f->kind == AUTH_CODE && !f->world->open_url && !env_is_on("CADRE_MCP_AUTH_FOLLOW");
}

static void choose_kind(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;
	bool secret = o->client_secret || o->private_key;

	if (o->idp_token_url && o->idp_token)
		f->kind = AUTH_ASSERTION;
	else if (secret && (o->machine || (f->issuer.client_credentials && !f->issuer.code_grant)))
		f->kind = AUTH_CLIENT_CREDENTIALS;
	else
		f->kind = AUTH_CODE;
}

/* The port that was registered, if there is one and it is free; else the configured one. */
static int open_callback(struct auth_flow *f, bool *ret_same_port)
{
	unsigned registered = has_registered(f) ? f->had->client.port : 0;
	struct loop *loop = f->world->loop;

	f->secret = oauth_secret(&f->arena);
	*ret_same_port =
		registered && oauth_callback_open(loop, registered, f->secret, auth_notify, f, &f->callback, NULL) == 0;
	if (*ret_same_port)
		return 0;
	return oauth_callback_open(loop, f->server->oauth.callback_port, f->secret, auth_notify, f, &f->callback,
				   &f->err);
}

static enum auth_step start_with_person(struct auth_flow *f)
{
	bool same_port;

	if (!f->issuer.authorize_url) {
		err_set(&f->err, ERR_PROTOCOL, "the authorisation server has no page to sign in at");
		return auth_fail(f);
	}
	if (open_callback(f, &same_port) < 0)
		return auth_fail(f);
	if (use_configured(f))
		return auth_go(f, AUTH_CONSENT);
	if (!same_port)
		return auth_go(f, AUTH_REGISTER);
	f->grant.client = f->had->client;
	return auth_go(f, AUTH_CONSENT);
}

/* A step-up that asks for nothing new would go on for ever. */
static bool is_vain(const struct auth_flow *f)
{
	return f->more && f->had && oauth_scope_covers(f->had->scope, f->grant.scope);
}

enum auth_step auth_step_client(struct auth_flow *f)
{
	f->grant.issuer = f->issuer.issuer ? f->issuer.issuer : f->issuer.token_url;
	f->grant.token_url = f->issuer.token_url;
	f->grant.resource = f->resource.resource;
	f->grant.scope = wanted_scope(f);
	choose_kind(f);
	if (is_vain(f)) {
		err_set(&f->err, ERR_DENIED, "the server wants the scopes %.120s, which were asked for already",
			f->grant.scope ? f->grant.scope : "(none)");
		return auth_fail(f);
	}
	if (needs_person(f)) {
		err_set(&f->err, ERR_DENIED, "the server wants you to sign in: run `cadre mcp login %.60s`",
			f->server->name);
		return auth_fail(f);
	}
	if (f->kind == AUTH_CODE)
		return start_with_person(f);
	if (!use_configured(f)) {
		err_set(&f->err, ERR_USAGE, "oauth.clientId is missing");
		return auth_fail(f);
	}
	return auth_go(f, f->kind == AUTH_ASSERTION ? AUTH_IDENTITY : AUTH_GRANT);
}

/* ---- registration ---- */

static enum auth_step start_register(struct auth_flow *f)
{
	AUTO_BUF struct buf body = { 0 };

	if (!f->issuer.register_url) {
		err_set(&f->err, ERR_DENIED,
			"the authorisation server knows only clients that were registered there by hand: set oauth.clientId");
		return auth_fail(f);
	}
	oauth_register_write(&body, auth_redirect(f), f->issuer.methods, f->grant.scope);
	auth_post(f, f->issuer.register_url, "application/json", NULL, buf_str(&body));
	return AUTH_WAIT;
}

enum auth_step auth_step_register(struct auth_flow *f)
{
	int status = 0;
	struct str answer;

	if (!f->fetch)
		return start_register(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0 && (status < 200 || status > 299))
		rc = err_set(&f->err, ERR_DENIED, "status %d", status);
	if (rc == 0)
		rc = oauth_register_read(&f->arena, answer, f->issuer.methods, &f->grant.client, &f->err);
	if (rc < 0) {
		err_wrap(&f->err, "registration at %.100s", f->issuer.register_url);
		return auth_fail(f);
	}
	f->grant.client.port = oauth_callback_port(f->callback);
	return auth_go(f, AUTH_CONSENT);
}
