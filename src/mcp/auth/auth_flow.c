/* SPDX-License-Identifier: MIT
 * auth_flow.c - one flow that gets a grant, and its states CLIENT, REGISTER and CONSENT. The order of the states is drawn in
 * docs/internals/mcp_auth.md. */
#include "mcp/auth/auth_flow.h"
#include "config/settings/settings.h"
#include "lib/base/id.h"
#include "mcp/auth/oauth_client.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"

static enum auth_step auth_step_register(struct auth_flow *f);

static enum auth_step auth_step_consent(struct auth_flow *f);

static enum auth_step auth_step_client(struct auth_flow *f);

static enum auth_step (*const steps[AUTH_END])(struct auth_flow *) = {
	[AUTH_RENEW] = auth_step_renew,       [AUTH_RESOURCE] = auth_step_resource, [AUTH_ISSUER] = auth_step_issuer,
	[AUTH_CLIENT] = auth_step_client,     [AUTH_REGISTER] = auth_step_register, [AUTH_CONSENT] = auth_step_consent,
	[AUTH_IDENTITY] = auth_step_identity, [AUTH_GRANT] = auth_step_grant,
};

static void flow_drop_fetch(struct auth_flow *f)
{
	oauth_fetch_free(f->fetch);
	f->fetch = NULL;
}

/* The only assignment of state. */
enum auth_step auth_flow_enter(struct auth_flow *f, enum auth_state state)
{
	flow_drop_fetch(f);
	f->state = state;
	f->asked |= state == AUTH_CONSENT;
	return AUTH_AGAIN;
}

enum auth_step auth_flow_fail(struct auth_flow *f)
{
	return auth_flow_enter(f, AUTH_END);
}

/* a fact was recorded somewhere: one step, on the next turn */
static void auth_flow_notify(void *flow)
{
	struct auth_flow *f = flow;

	loop_kick(f->env->loop, &f->kick);
}

static void flow_fetch(struct auth_flow *f, const struct oauth_request *request)
{
	flow_drop_fetch(f);
	f->fetch = oauth_fetch_start(f->env->loop, f->env->http, request, auth_flow_notify, f);
}

void auth_flow_get(struct auth_flow *f, const char *url)
{
	flow_fetch(f, &(struct oauth_request){ .url = url, .redirects = OAUTH_ORIGIN });
}

void auth_flow_post(struct auth_flow *f, const char *url, const char *type, const char *authorization, struct str body)
{
	flow_fetch(f, &(struct oauth_request){
			      .url = url, .authorization = authorization, .body_type = type, .body = body });
}

const char *auth_flow_redirect_uri(struct auth_flow *f)
{
	return arena_printf(&f->arena, "http://localhost:%u/callback", oauth_callback_port(f->callback));
}

static void flow_finish(struct auth_flow *f)
{
	struct auth_end end = {
		.renewed = f->renewed,
		.asked = f->asked,
		.refresh_refused = f->refresh_refused,
	};

	if (f->err.kind)
		end.err = &f->err;
	else
		end.grant = &f->grant;
	f->fn(f->data, &end);
}

static void on_flow_kick(struct kick *kick)
{
	struct auth_flow *f = CONTAINER_OF(kick, struct auth_flow, kick);

	while (f->state != AUTH_END && steps[f->state](f) == AUTH_AGAIN)
		;
	if (f->state == AUTH_END)
		flow_finish(f);
}

static void on_consent_limit(struct timer *timer)
{
	struct auth_flow *f = CONTAINER_OF(timer, struct auth_flow, limit);

	f->late = true;
	auth_flow_notify(f);
}

static const char *flow_copy(struct auth_flow *f, const char *text)
{
	return text ? arena_strdup(&f->arena, text) : NULL;
}

struct auth_flow *auth_flow_start(const struct auth_wish *wish, auth_flow_fn *fn, void *data)
{
	struct auth_flow *f = xcalloc(1, sizeof *f);
	struct oauth_url url = { 0 };

	f->env = wish->env;
	f->server = wish->server;
	f->had = wish->grant ? oauth_grant_copy(wish->grant) : NULL;
	f->store_key = flow_copy(f, wish->store_key);
	f->challenge.metadata_url = flow_copy(f, wish->challenge.metadata_url);
	f->challenge.scope = flow_copy(f, wish->challenge.scope);
	f->renew = wish->renew;
	f->only_renew = wish->only_renew;
	f->more = wish->more;
	f->fn = fn;
	f->data = data;
	f->kick.step = on_flow_kick;
	f->limit.fire = on_consent_limit;
	(void)oauth_url_parse(&f->arena, f->server->url, &url, NULL); /* discovery reports the error */
	f->loopback_allowed = url.loopback;
	(void)auth_flow_enter(f, wish->more ? AUTH_RESOURCE : AUTH_RENEW);
	auth_flow_notify(f);
	return f;
}

void auth_flow_free(struct auth_flow *f)
{
	if (!f)
		return;
	kick_cancel(&f->kick);
	timer_stop(f->env->loop, &f->limit);
	flow_drop_fetch(f);
	oauth_callback_close(f->callback);
	oauth_grant_free(f->had);
	arena_release(&f->arena);
	free(f);
}

/* ---- CLIENT ---- */

/* ---- scopes ---- */

static const char offline_scope[] = "offline_access";

/* Requests a refresh token, where the authorisation server supports it; elsewhere it is an error. */
static const char *adjust_offline_scope(struct auth_flow *f, const char *scope)
{
	struct str name = { offline_scope, sizeof offline_scope - 1 };

	if (!scope || !f->issuer.scopes)
		return scope;
	if (oauth_scope_has(f->issuer.scopes, name))
		return oauth_scope_union(&f->arena, scope, offline_scope);
	return oauth_scope_without(&f->arena, scope, name);
}

/* ---- who we are ---- */

/* The configured client id. False: none, or not valid for this server. */
static bool use_configured_client(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;

	if (!o->client_id || (!strncmp(o->client_id, "https://", strlen("https://")) && !f->issuer.client_documents))
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
static bool can_reuse_registration(const struct auth_flow *f)
{
	const struct oauth_grant *had = f->had;

	return had && had->client.registered && !f->client_is_gone && !strcmp(had->issuer, f->grant.issuer) &&
	       (!had->client.expires_ms || had->client.expires_ms > id_wall_ms());
}

static bool needs_person(const struct auth_flow *f)
{
	return f->kind == AUTH_CODE && !f->env->open_url && !env_is_on("CADRE_MCP_AUTH_FOLLOW");
}

/* The port that was registered, if there is one and it is free; else the configured one. */
static int open_callback(struct auth_flow *f, bool *ret_same_port)
{
	unsigned registered = can_reuse_registration(f) ? f->had->client.port : 0;
	struct loop *loop = f->env->loop;

	f->secret = oauth_secret(&f->arena);
	*ret_same_port = registered &&
			 oauth_callback_open(loop, registered, f->secret, auth_flow_notify, f, &f->callback, NULL) == 0;
	if (*ret_same_port)
		return 0;
	return oauth_callback_open(loop, f->server->oauth.callback_port, f->secret, auth_flow_notify, f, &f->callback,
				   &f->err);
}

static enum auth_step client_start_sign_in(struct auth_flow *f)
{
	bool same_port;

	if (!f->issuer.authorize_url) {
		err_set(&f->err, ERR_PROTOCOL, "the authorisation server has no authorisation endpoint");
		return auth_flow_fail(f);
	}
	if (open_callback(f, &same_port) < 0)
		return auth_flow_fail(f);
	if (use_configured_client(f))
		return auth_flow_enter(f, AUTH_CONSENT);
	if (!same_port)
		return auth_flow_enter(f, AUTH_REGISTER);
	f->grant.client = f->had->client;
	return auth_flow_enter(f, AUTH_CONSENT);
}

/* A step-up without new scopes would loop for ever. */
static bool is_vain(const struct auth_flow *f)
{
	return f->more && f->had && oauth_scope_covers(f->had->scope, f->grant.scope);
}

/* auth_flow.c */
static enum auth_step auth_step_client(struct auth_flow *f)
{
	f->grant.issuer = f->issuer.issuer ? f->issuer.issuer : f->issuer.token_url;
	f->grant.token_url = f->issuer.token_url;
	f->grant.resource = f->resource.resource;
	const char *scope = f->server->oauth.scopes;
	if (!scope)
		scope = f->challenge.scope ? f->challenge.scope : f->resource.scopes;
	if (f->more && f->had) {
		scope = oauth_scope_union(&f->arena, f->had->token.scope, scope);
		scope = oauth_scope_union(&f->arena, scope, f->challenge.scope);
	}
	f->grant.scope = adjust_offline_scope(f, oauth_scope_union(&f->arena, scope, NULL));
	const struct mcp_oauth *o = &f->server->oauth;
	bool secret = o->client_secret || o->private_key;
	if (o->idp_token_url && o->idp_token)
		f->kind = AUTH_ASSERTION;
	else if (secret && (o->machine || (f->issuer.client_credentials && !f->issuer.code_grant)))
		f->kind = AUTH_CLIENT_CREDENTIALS;
	else
		f->kind = AUTH_CODE;
	if (is_vain(f)) {
		err_set(&f->err, ERR_DENIED, "the server demands the scopes %.120s, which were already requested",
			f->grant.scope ? f->grant.scope : "(none)");
		return auth_flow_fail(f);
	}
	if (needs_person(f)) {
		err_set(&f->err, ERR_DENIED, "sign-in required: run `cadre mcp login %.60s`", f->server->name);
		return auth_flow_fail(f);
	}
	if (f->kind == AUTH_CODE)
		return client_start_sign_in(f);
	if (!use_configured_client(f)) {
		err_set(&f->err, ERR_USAGE, "oauth.clientId is missing");
		return auth_flow_fail(f);
	}
	return auth_flow_enter(f, f->kind == AUTH_ASSERTION ? AUTH_IDENTITY : AUTH_GRANT);
}

/* ---- registration ---- */

/* auth_flow.c */
static enum auth_step auth_step_register(struct auth_flow *f)
{
	int status = 0;
	struct str answer;

	if (!f->fetch) {
		AUTO_BUF struct buf body = { 0 };
		if (!f->issuer.register_url) {
			err_set(&f->err, ERR_DENIED,
				"the authorisation server knows only clients that were registered there by hand: set oauth.clientId");
			return auth_flow_fail(f);
		}
		oauth_register_write(&body, auth_flow_redirect_uri(f), f->issuer.methods, f->grant.scope);
		auth_flow_post(f, f->issuer.register_url, "application/json", NULL, buf_str(&body));
		return AUTH_WAIT;
	}
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0 && (status < 200 || status > 299))
		rc = err_set(&f->err, ERR_DENIED, "status %d", status);
	if (rc == 0)
		rc = oauth_register_read(&f->arena, answer, f->issuer.methods, &f->grant.client, &f->err);
	if (rc < 0) {
		err_wrap(&f->err, "registration at %.100s", f->issuer.register_url);
		return auth_flow_fail(f);
	}
	f->grant.client.port = oauth_callback_port(f->callback);
	return auth_flow_enter(f, AUTH_CONSENT);
}

/* ---- CONSENT: a person signs in with a browser, which then comes back to our callback address ---- */

enum { CONSENT_MS = 5 * 60 * 1000 };

static const char *authorize_url(struct auth_flow *f)
{
	AUTO_BUF struct buf url = { 0 };

	f->verifier = oauth_secret(&f->arena);
	buf_addstr(&url, f->issuer.authorize_url);
	if (!strchr(url.p, '?'))
		buf_addch(&url, '?');
	oauth_form_add(&url, "response_type", "code");
	oauth_form_add(&url, "client_id", f->grant.client.id);
	oauth_form_add(&url, "redirect_uri", auth_flow_redirect_uri(f));
	oauth_form_add(&url, "code_challenge", oauth_pkce_challenge(&f->arena, f->verifier));
	oauth_form_add(&url, "code_challenge_method", "S256");
	oauth_form_add(&url, "state", f->secret);
	oauth_form_add(&url, "scope", f->grant.scope);
	oauth_form_add(&url, "resource", f->grant.resource);
	return arena_dup(&f->arena, url.p, url.n);
}

/* RFC 9207: an answer of another authorisation server must not be taken for one of ours. */
static bool is_of_issuer(const struct auth_flow *f, const struct oauth_reply *reply)
{
	if (!reply->issuer)
		return !f->issuer.says_issuer;
	return f->issuer.issuer && !strcmp(reply->issuer, f->issuer.issuer);
}

static enum auth_step consent_take_reply(struct auth_flow *f, const struct oauth_reply *reply)
{
	timer_stop(f->env->loop, &f->limit);
	if (!is_of_issuer(f, reply))
		err_set(&f->err, ERR_DENIED, "the answer came from another authorisation server");
	else if (reply->error)
		err_set(&f->err, ERR_DENIED, "authorisation server error: %.40s%s%.120s", reply->error,
			reply->description ? ": " : "", reply->description ? reply->description : "");
	else if (!reply->code)
		err_set(&f->err, ERR_PROTOCOL, "the authorisation server returned no code");
	if (f->err.kind)
		return auth_flow_fail(f);
	f->code = arena_strdup(&f->arena, reply->code);
	return auth_flow_enter(f, AUTH_GRANT);
}

/* auth_flow.c */
static enum auth_step auth_step_consent(struct auth_flow *f)
{
	const struct oauth_reply *reply = oauth_callback_reply(f->callback);

	if (!f->verifier) {
		const char *url = authorize_url(f);
		timer_start(f->env->loop, &f->limit, CONSENT_MS);
		if (env_is_on("CADRE_MCP_AUTH_FOLLOW")) {
			/* Plain GETs instead of a browser, for test servers that need no consent. */
			struct oauth_url parts;
			if (oauth_url_parse(&f->arena, url, &parts, &f->err) < 0)
				return auth_flow_fail(f);
			if (!parts.loopback) {
				err_set(&f->err, ERR_DENIED,
					"CADRE_MCP_AUTH_FOLLOW is for test servers on this machine only");
				return auth_flow_fail(f);
			}
			f->fetch = oauth_fetch_start(f->env->loop, f->env->http,
						     &(struct oauth_request){ .url = url, .redirects = OAUTH_LOOPBACK },
						     auth_flow_notify, f);
			return AUTH_WAIT;
		}
		f->env->open_url(f->env->data, url);
		return AUTH_WAIT;
	}
	if (reply)
		return consent_take_reply(f, reply);
	if (f->fetch && oauth_fetch_over(f->fetch)) {
		int status = 0;
		struct str body;
		if (oauth_fetch_answer(f->fetch, &status, &body, &f->err) == 0)
			err_set(&f->err, ERR_DENIED,
				"the authorisation endpoint returned status %d instead of a redirect", status);
		return auth_flow_fail(f);
	}
	if (!f->late)
		return AUTH_WAIT;
	err_set(&f->err, ERR_DENIED, "no sign-in within %d minutes", CONSENT_MS / 60000);
	return auth_flow_fail(f);
}
