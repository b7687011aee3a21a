/* SPDX-License-Identifier: MIT
 * auth_consent.c - CONSENT: a person signs in with a browser, which then comes back to our callback address. */
#include "mcp/auth/auth_flow_int.h"
#include "mcp/auth/oauth_form.h"
#include "mcp/auth/oauth_pkce.h"
#include "mcp/auth/oauth_url.h"
#include "config/settings/env_switch.h"

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
	oauth_form_add(&url, "redirect_uri", auth_redirect(f));
	oauth_form_add(&url, "code_challenge", oauth_pkce_challenge(&f->arena, f->verifier));
	oauth_form_add(&url, "code_challenge_method", "S256");
	oauth_form_add(&url, "state", f->secret);
	oauth_form_add(&url, "scope", f->grant.scope);
	oauth_form_add(&url, "resource", f->grant.resource);
	return arena_dup(&f->arena, url.p, url.n);
}

/* Plain GETs in place of a browser, for authorisation servers of tests: they ask nobody. */
static enum auth_step follow(struct auth_flow *f, const char *url)
{
	struct oauth_url parts;

	if (oauth_url_parse(&f->arena, url, &parts, &f->err) < 0)
		return auth_fail(f);
	if (!parts.loopback) {
		err_set(&f->err, ERR_DENIED, "CADRE_MCP_AUTH_FOLLOW is for test servers on this machine only");
		return auth_fail(f);
	}
	f->fetch =
		oauth_fetch_start(f->world->loop, f->world->http,
				  &(struct oauth_request){ .url = url, .redirects = OAUTH_LOOPBACK }, auth_notify, f);
	return AUTH_WAIT;
}

static enum auth_step ask(struct auth_flow *f)
{
	const char *url = authorize_url(f);

	timer_start(f->world->loop, &f->limit, CONSENT_MS);
	if (env_is_on("CADRE_MCP_AUTH_FOLLOW"))
		return follow(f, url);
	f->world->open_url(f->world->data, url);
	return AUTH_WAIT;
}

/* RFC 9207: an answer of another authorisation server must not be taken for one of ours. */
static bool is_of_issuer(const struct auth_flow *f, const struct oauth_reply *reply)
{
	if (!reply->issuer)
		return !f->issuer.says_issuer;
	return f->issuer.issuer && !strcmp(reply->issuer, f->issuer.issuer);
}

static enum auth_step take_reply(struct auth_flow *f, const struct oauth_reply *reply)
{
	timer_stop(f->world->loop, &f->limit);
	if (!is_of_issuer(f, reply))
		err_set(&f->err, ERR_DENIED, "the answer came from another authorisation server");
	else if (reply->error)
		err_set(&f->err, ERR_DENIED, "the authorisation server says %.40s%s%.120s", reply->error,
			reply->description ? ": " : "", reply->description ? reply->description : "");
	else if (!reply->code)
		err_set(&f->err, ERR_PROTOCOL, "the authorisation server came back without a code");
	if (f->err.kind)
		return auth_fail(f);
	f->code = arena_strdup(&f->arena, reply->code);
	return auth_go(f, AUTH_GRANT);
}

static enum auth_step take_dead_end(struct auth_flow *f)
{
	int status = 0;
	struct str body;

	if (oauth_fetch_answer(f->fetch, &status, &body, &f->err) == 0)
		err_set(&f->err, ERR_DENIED, "the authorisation endpoint led to status %d, not back to us", status);
	return auth_fail(f);
}

enum auth_step auth_step_consent(struct auth_flow *f)
{
	const struct oauth_reply *reply = oauth_callback_reply(f->callback);

	if (!f->verifier)
		return ask(f);
	if (reply)
		return take_reply(f, reply);
	if (f->fetch && oauth_fetch_over(f->fetch))
		return take_dead_end(f);
	if (!f->late)
		return AUTH_WAIT;
	err_set(&f->err, ERR_DENIED, "nobody signed in within %d minutes", CONSENT_MS / 60000);
	return auth_fail(f);
}
