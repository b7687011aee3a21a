/* SPDX-License-Identifier: MIT
 * auth_flow.c - one run that gets a grant. The order of its states is drawn in docs/internals/mcp_auth.md. */
#include "mcp/auth/auth_flow_int.h"
#include "mcp/auth/oauth_url.h"

static enum auth_step (*const steps[AUTH_END])(struct auth_flow *) = {
	[AUTH_RENEW] = auth_step_renew,       [AUTH_RESOURCE] = auth_step_resource, [AUTH_ISSUER] = auth_step_issuer,
	[AUTH_CLIENT] = auth_step_client,     [AUTH_REGISTER] = auth_step_register, [AUTH_CONSENT] = auth_step_consent,
	[AUTH_IDENTITY] = auth_step_identity, [AUTH_GRANT] = auth_step_grant,
};

static void drop_fetch(struct auth_flow *f)
{
	oauth_fetch_free(f->fetch);
	f->fetch = NULL;
}

/* The only assignment of state. */
enum auth_step auth_go(struct auth_flow *f, enum auth_state state)
{
	drop_fetch(f);
	f->state = state;
	f->asked |= state == AUTH_CONSENT;
	return AUTH_AGAIN;
}

enum auth_step auth_fail(struct auth_flow *f)
{
	return auth_go(f, AUTH_END);
}

void auth_notify(void *flow)
{
	struct auth_flow *f = flow;

	loop_kick(f->world->loop, &f->kick);
}

static void start(struct auth_flow *f, const struct oauth_request *request)
{
	drop_fetch(f);
	f->fetch = oauth_fetch_start(f->world->loop, f->world->http, request, auth_notify, f);
}

void auth_get(struct auth_flow *f, const char *url)
{
	start(f, &(struct oauth_request){ .url = url, .redirects = OAUTH_ORIGIN });
}

void auth_post(struct auth_flow *f, const char *url, const char *type, const char *authorization, struct str body)
{
	start(f,
	      &(struct oauth_request){ .url = url, .authorization = authorization, .body_type = type, .body = body });
}

const char *auth_redirect(struct auth_flow *f)
{
	return arena_printf(&f->arena, "http://localhost:%u/callback", oauth_callback_port(f->callback));
}

static void finish(struct auth_flow *f)
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

static void on_kick(struct kick *kick)
{
	struct auth_flow *f = CONTAINER_OF(kick, struct auth_flow, kick);

	while (f->state != AUTH_END && steps[f->state](f) == AUTH_AGAIN)
		;
	if (f->state == AUTH_END)
		finish(f);
}

static void on_limit(struct timer *timer)
{
	struct auth_flow *f = CONTAINER_OF(timer, struct auth_flow, limit);

	f->late = true;
	auth_notify(f);
}

static const char *copy(struct auth_flow *f, const char *text)
{
	return text ? arena_strdup(&f->arena, text) : NULL;
}

struct auth_flow *auth_flow_start(const struct auth_wish *wish, auth_flow_fn *fn, void *data)
{
	struct auth_flow *f = xcalloc(1, sizeof *f);
	struct oauth_url url = { 0 };

	f->world = wish->world;
	f->server = wish->server;
	f->had = wish->grant ? oauth_grant_copy(wish->grant) : NULL;
	f->store_key = copy(f, wish->store_key);
	f->challenge.metadata_url = copy(f, wish->challenge.metadata_url);
	f->challenge.scope = copy(f, wish->challenge.scope);
	f->renew = wish->renew;
	f->only_renew = wish->only_renew;
	f->more = wish->more;
	f->fn = fn;
	f->data = data;
	f->kick.step = on_kick;
	f->limit.fire = on_limit;
	(void)oauth_url_parse(&f->arena, f->server->url, &url, NULL); /* discovery will say what is wrong with it */
	f->loopback_allowed = url.loopback;
	(void)auth_go(f, wish->more ? AUTH_RESOURCE : AUTH_RENEW);
	auth_notify(f);
	return f;
}

void auth_flow_free(struct auth_flow *f)
{
	if (!f)
		return;
	kick_cancel(&f->kick);
	timer_stop(f->world->loop, &f->limit);
	drop_fetch(f);
	oauth_callback_close(f->callback);
	oauth_grant_free(f->had);
	arena_release(&f->arena);
	free(f);
}
