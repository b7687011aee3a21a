/* SPDX-License-Identifier: MIT
 * auth_flow.c - one flow that gets a grant, and its states CLIENT, REGISTER and CONSENT. The order of the states is drawn in
 * docs/internals/mcp_auth.md. */
#include "mcp/auth/auth_flow.h"
#include "config/settings/settings.h"
#include "lib/base/id.h"
#include "lib/base/list.h"
#include "mcp/auth/oauth_client.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "mcp/auth/auth.h"

enum { CONSENT_MS = 5 * 60 * 1000 };

/* The only assignment of state. */
enum auth_step auth_flow_enter(struct auth_flow *f, enum auth_state state)
{
	oauth_fetch_free(TAKE(f->fetch));
	f->state = state;
	f->asked |= state == AUTH_CONSENT;
	return AUTH_AGAIN;
}

/* A fact was recorded: one step, on the next turn. */
static void on_fact(void *flow)
{
	struct auth_flow *f = flow;

	loop_kick(f->env->loop, &f->kick);
}

void auth_flow_fetch(struct auth_flow *f, const struct oauth_request *request)
{
	oauth_fetch_free(TAKE(f->fetch));
	f->fetch = oauth_fetch_start(f->env->loop, f->env->http, request, on_fact, f);
}

const char *auth_flow_redirect_uri(struct auth_flow *f)
{
	return arena_printf(&f->arena, "http://localhost:%u/callback", oauth_callback_port(f->callback));
}

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

/* Listens for the answer, on the port of an earlier registration if that port is free. */
static int client_start_sign_in(struct auth_flow *f)
{
	const struct oauth_grant *had = f->had;
	struct loop *loop = f->env->loop;
	bool registered = had && had->client.registered && had->client.port && !f->client_is_gone &&
			  !strcmp(had->issuer, f->grant.issuer) &&
			  (!had->client.expires_ms || had->client.expires_ms > id_wall_ms());

	if (!f->issuer.authorize_url)
		return err_set(&f->err, ERR_PROTOCOL, "the authorisation server has no authorisation endpoint");
	f->secret = oauth_secret(&f->arena);
	registered = registered &&
		     oauth_callback_open(loop, had->client.port, f->secret, on_fact, f, &f->callback, NULL) == 0;
	if (!registered) {
		int rc = oauth_callback_open(loop, f->server->oauth.callback_port, f->secret, on_fact, f, &f->callback,
					     &f->err);
		if (rc < 0)
			return rc;
	}
	if (use_configured_client(f))
		return auth_flow_enter(f, AUTH_CONSENT);
	if (!registered)
		return auth_flow_enter(f, AUTH_REGISTER);
	f->grant.client = had->client;
	return auth_flow_enter(f, AUTH_CONSENT);
}

static const char *wanted_scope(struct auth_flow *f)
{
	static const char offline[] = "offline_access";
	const char *scope = f->server->oauth.scopes;

	if (!scope)
		scope = f->challenge.scope ? f->challenge.scope : f->resource.scopes;
	if (f->more && f->had) {
		scope = oauth_scope_union(&f->arena, f->had->token.scope, scope);
		scope = oauth_scope_union(&f->arena, scope, f->challenge.scope);
	}
	scope = oauth_scope_union(&f->arena, scope, NULL);
	if (!scope || !f->issuer.scopes)
		return scope;
	/* Requests a refresh token, if the authorisation server supports it; otherwise the scope is an error. */
	if (oauth_scope_has(f->issuer.scopes, str_from(offline)))
		return oauth_scope_union(&f->arena, scope, offline);
	return oauth_scope_without(&f->arena, scope, str_from(offline));
}

static int auth_step_client(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;
	bool secret = o->client_secret || o->private_key;

	f->grant.issuer = f->issuer.issuer ? f->issuer.issuer : f->issuer.token_url;
	f->grant.token_url = f->issuer.token_url;
	f->grant.resource = f->resource.resource;
	f->grant.scope = wanted_scope(f);
	if (o->idp_token_url && o->idp_token)
		f->kind = AUTH_ASSERTION;
	else if (secret && (o->machine || (f->issuer.client_credentials && !f->issuer.code_grant)))
		f->kind = AUTH_CLIENT_CREDENTIALS;
	else
		f->kind = AUTH_CODE;
	/* A step-up without new scopes would loop for ever. */
	if (f->more && f->had && oauth_scope_covers(f->had->scope, f->grant.scope))
		return err_set(&f->err, ERR_DENIED,
			       "the server demands the scopes %.120s, which were already requested",
			       f->grant.scope ? f->grant.scope : "(none)");
	if (f->kind == AUTH_CODE && !f->env->open_url && !env_is_on(getenv("CADRE_MCP_AUTH_FOLLOW")))
		return err_set(&f->err, ERR_DENIED, "sign-in required: run `cadre mcp login %.60s`", f->server->name);
	if (f->kind == AUTH_CODE)
		return client_start_sign_in(f);
	if (!use_configured_client(f))
		return err_set(&f->err, ERR_USAGE, "oauth.clientId is missing");
	return auth_flow_enter(f, f->kind == AUTH_ASSERTION ? AUTH_IDENTITY : AUTH_GRANT);
}

static int auth_step_register(struct auth_flow *f)
{
	AUTO_BUF struct buf body = { 0 };
	int status = 0;
	struct str answer;

	if (!f->fetch) {
		if (!f->issuer.register_url)
			return err_set(
				&f->err, ERR_DENIED,
				"the authorisation server accepts only clients that were registered by hand: set oauth.clientId");
		oauth_register_write(&body, auth_flow_redirect_uri(f), f->issuer.methods, f->grant.scope);
		auth_flow_fetch(f, &(struct oauth_request){ .url = f->issuer.register_url,
							    .body_type = "application/json",
							    .body = buf_str(&body) });
		return AUTH_WAIT;
	}
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0 && (status < 200 || status > 299))
		rc = err_set(&f->err, ERR_DENIED, "status %d", status);
	if (rc == 0)
		rc = oauth_register_read(&f->arena, answer, f->issuer.methods, &f->grant.client, &f->err);
	if (rc < 0)
		return err_wrap(&f->err, "registration at %.100s", f->issuer.register_url);
	f->grant.client.port = oauth_callback_port(f->callback);
	return auth_flow_enter(f, AUTH_CONSENT);
}

/* CONSENT: the user signs in with a browser, which then loads our redirect URI. */

static int consent_start(struct auth_flow *f)
{
	AUTO_BUF struct buf url = { 0 };
	struct oauth_url parts;

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
	timer_start(f->env->loop, &f->limit, CONSENT_MS);
	if (!env_is_on(getenv("CADRE_MCP_AUTH_FOLLOW"))) {
		f->env->open_url(f->env->data, url.p);
		return AUTH_WAIT;
	}
	/* Plain GETs instead of a browser, for test servers that need no consent. */
	int rc = oauth_url_parse(&f->arena, url.p, &parts, &f->err);
	if (rc < 0)
		return rc;
	if (!parts.loopback)
		return err_set(&f->err, ERR_DENIED, "CADRE_MCP_AUTH_FOLLOW is for test servers on this machine only");
	auth_flow_fetch(f, &(struct oauth_request){ .url = url.p, .redirects = OAUTH_LOOPBACK });
	return AUTH_WAIT;
}

static int auth_step_consent(struct auth_flow *f)
{
	const struct oauth_reply *reply = oauth_callback_reply(f->callback);
	const char *issuer = f->issuer.issuer;
	int status = 0;
	struct str body;

	if (!f->verifier)
		return consent_start(f);
	if (!reply && f->fetch && oauth_fetch_over(f->fetch)) {
		int rc = oauth_fetch_answer(f->fetch, &status, &body, &f->err);
		return rc < 0 ? rc
			      : err_set(&f->err, ERR_DENIED,
					"the authorisation endpoint returned status %d instead of a redirect", status);
	}
	if (!reply && !f->late)
		return AUTH_WAIT;
	if (!reply)
		return err_set(&f->err, ERR_DENIED, "no sign-in within %d minutes", CONSENT_MS / 60000);
	timer_stop(f->env->loop, &f->limit);
	/* RFC 9207: an answer of another authorisation server must not be taken for one of ours. */
	if (reply->issuer ? !issuer || strcmp(reply->issuer, issuer) != 0 : f->issuer.says_issuer)
		return err_set(&f->err, ERR_DENIED, "the answer came from another authorisation server");
	if (reply->error)
		return err_set(&f->err, ERR_DENIED, "authorisation server error: %.40s%s%.120s", reply->error,
			       reply->description ? ": " : "", reply->description ? reply->description : "");
	if (!reply->code)
		return err_set(&f->err, ERR_PROTOCOL, "the authorisation server returned no code");
	f->code = arena_strdup(&f->arena, reply->code);
	return auth_flow_enter(f, AUTH_GRANT);
}

static int (*const steps[AUTH_END])(struct auth_flow *) = {
	[AUTH_RENEW] = auth_step_renew,       [AUTH_RESOURCE] = auth_step_resource, [AUTH_ISSUER] = auth_step_issuer,
	[AUTH_CLIENT] = auth_step_client,     [AUTH_REGISTER] = auth_step_register, [AUTH_CONSENT] = auth_step_consent,
	[AUTH_IDENTITY] = auth_step_identity, [AUTH_GRANT] = auth_step_grant,
};

static void on_flow_kick(struct kick *kick)
{
	struct auth_flow *f = CONTAINER_OF(kick, struct auth_flow, kick);

	while (f->state != AUTH_END) {
		bool fetches = f->fetch && !oauth_fetch_over(f->fetch) && f->state != AUTH_CONSENT;
		int rc = fetches ? AUTH_WAIT : steps[f->state](f);
		if (rc == AUTH_WAIT)
			return;
		if (rc < 0)
			(void)auth_flow_enter(f, AUTH_END);
	}
	f->over(f);
}

static void on_consent_limit(struct timer *timer)
{
	struct auth_flow *f = CONTAINER_OF(timer, struct auth_flow, limit);

	f->late = true;
	on_fact(f);
}

static void auth_flow_free(struct auth_flow *f)
{
	if (!f)
		return;
	kick_cancel(&f->kick);
	timer_stop(f->env->loop, &f->limit);
	oauth_fetch_free(f->fetch);
	oauth_callback_close(f->callback);
	oauth_grant_free(f->had);
	arena_release(&f->arena);
	free(f);
}

/* The grant of one server, and requests that wait for a new one. */

enum {
	ASK_LIMIT = 3, /* sign-ins in ASK_SPAN_MS, successful or not */
	ASK_SPAN_MS = 10 * 60 * 1000,
	FRESH_MS = 60 * 1000, /* a renewed token that is refused so soon is not renewed again */
};

struct waiter {
	struct waiter *next;
	mcp_auth_fn *done;
	void *data;
	bool ended;
	struct err err; /* of its end; kind 0: none */
};

struct mcp_auth {
	const struct mcp_env *env;       /* borrowed */
	const struct mcp_server *server; /* borrowed */
	struct arena arena;
	const char *store_key;
	struct oauth_grant *grant; /* NULL: none */
	char *header;              /* NULL: no token */
	uint64_t renewed_at_ms;    /* of the loop; 0: not by us */
	uint64_t asked_ms[ASK_LIMIT];
	size_t asked; /* count of all; the last ones are in asked_ms */
	struct auth_flow *flow;
	struct waiter *waiters; /* ended ones first */
	struct kick kick;
};

/* Reports one end per turn, as its last act: the callback may free us. */
static void on_auth_kick(struct kick *kick)
{
	struct mcp_auth *a = CONTAINER_OF(kick, struct mcp_auth, kick);
	AUTO_FREE struct waiter *w = list_pop(&a->waiters);

	if (a->waiters && a->waiters->ended)
		loop_kick(a->env->loop, &a->kick);
	w->done(w->data, w->err.kind ? &w->err : NULL);
}

static void end_waiters(struct mcp_auth *a, const struct err *err)
{
	for (struct waiter *w = a->waiters; w; w = w->next) {
		if (!w->ended && err)
			w->err = *err;
		w->ended = true;
	}
	loop_kick(a->env->loop, &a->kick);
}

static void set_grant(struct mcp_auth *a, struct oauth_grant *grant)
{
	AUTO_BUF struct buf header = { 0 };

	oauth_grant_free(a->grant);
	a->grant = grant;
	free(TAKE(a->header));
	if (!grant || !grant->token.access)
		return;
	buf_addf(&header, "Authorization: Bearer %s", grant->token.access);
	a->header = buf_take(&header, NULL);
}

struct mcp_auth *mcp_auth_new(const struct mcp_env *env, const struct mcp_server *server)
{
	struct oauth_grant *stored = NULL;
	struct mcp_auth *a = xnew(struct mcp_auth, .env = env, .server = server);

	a->kick.step = on_auth_kick;
	a->store_key = oauth_store_key(&a->arena, server);
	if (env->auth_file && oauth_store_get(env->auth_file, a->store_key, &stored, NULL) == 0)
		set_grant(a, stored);
	return a;
}

void mcp_auth_free(struct mcp_auth *a)
{
	if (!a)
		return;
	kick_cancel(&a->kick);
	auth_flow_free(a->flow);
	for (struct waiter *w; (w = list_pop(&a->waiters));)
		free(w);
	set_grant(a, NULL);
	arena_release(&a->arena);
	free(a);
}

const char *mcp_auth_header(struct mcp_auth *a)
{
	return a->header;
}

/* There is a refresh token, and the token was not refreshed just now. */
static bool may_renew(const struct mcp_auth *a)
{
	return a->grant && a->grant->token.access && a->grant->token.refresh &&
	       !(a->renewed_at_ms && loop_now_ms(a->env->loop) - a->renewed_at_ms < FRESH_MS);
}

bool mcp_auth_stale(const struct mcp_auth *a)
{
	return may_renew(a) && a->grant->token.renew_ms && id_wall_ms() >= a->grant->token.renew_ms;
}

static void on_flow_over(struct auth_flow *f)
{
	struct mcp_auth *a = f->data;
	struct oauth_grant *grant = NULL;
	struct err err = f->err;

	if (f->asked)
		a->asked_ms[a->asked++ % ASK_LIMIT] = loop_now_ms(a->env->loop);
	if (!err.kind) {
		a->renewed_at_ms = f->renewed ? loop_now_ms(a->env->loop) : 0;
		grant = oauth_grant_copy(&f->grant);
	} else if (f->refresh_refused && a->grant) {
		grant = oauth_grant_copy(a->grant);
		grant->token.refresh = NULL;
		grant->token.renew_ms = 0;
	}
	if (grant)
		set_grant(a, grant);
	if (grant && a->env->auth_file) /* if it cannot be written, the next sign-in is lost, not this connection */
		(void)oauth_store_put(a->env->changes, a->env->auth_file, a->store_key, a->server->url, grant, NULL);
	auth_flow_free(TAKE(a->flow));
	end_waiters(a, err.kind ? &err : NULL);
}

static void auth_flow_start(struct mcp_auth *a, int status, struct str www_authenticate)
{
	struct oauth_url url = { 0 };
	struct auth_flow *f = xnew(struct auth_flow, .env = a->env, .server = a->server, .store_key = a->store_key,
				   .had = a->grant ? oauth_grant_copy(a->grant) : NULL, .renew = may_renew(a),
				   .only_renew = status == 0, .more = status == 403, .over = on_flow_over, .data = a,
				   .kick.step = on_flow_kick, .limit.fire = on_consent_limit);

	f->challenge = oauth_challenge_read(&f->arena, www_authenticate);
	(void)oauth_url_parse(&f->arena, f->server->url, &url, NULL); /* discovery reports the error */
	f->loopback_allowed = url.loopback;
	(void)auth_flow_enter(f, f->more ? AUTH_RESOURCE : AUTH_RENEW);
	a->flow = f;
	on_fact(f);
}

void mcp_auth_challenge(struct mcp_auth *a, int status, struct str www_authenticate, mcp_auth_fn *done, void *data)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct err err = { 0 };
	struct waiter *w = xnew(struct waiter, .done = done, .data = data);

	list_push_last(&a->waiters, w);
	if (a->flow)
		return;
	const char *error = oauth_challenge_read(&arena, www_authenticate).error;
	bool too_often =
		a->asked >= ASK_LIMIT && loop_now_ms(a->env->loop) - a->asked_ms[a->asked % ASK_LIMIT] < ASK_SPAN_MS;
	if (status == 403 && (!error || strcmp(error, "insufficient_scope") != 0)) {
		(void)err_set(&err, ERR_DENIED, "the server does not allow it (status 403)");
		end_waiters(a, &err);
	} else if (status && too_often) {
		(void)err_set(&err, ERR_DENIED, "signed in %d times within %d minutes, and the server still refuses",
			      ASK_LIMIT, ASK_SPAN_MS / 60000);
		end_waiters(a, &err);
	} else if (status == 0 && !may_renew(a)) {
		end_waiters(a, NULL);
	} else {
		auth_flow_start(a, status, www_authenticate);
	}
}
