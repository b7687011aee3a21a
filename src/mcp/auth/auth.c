/* SPDX-License-Identifier: MIT
 * auth.c - the grant of one server, and requests that wait for a new one. */
#include "mcp/auth/auth.h"
#include "lib/base/id.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_token.h"

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
	struct waiter *first, **last; /* ended ones first */
	struct kick kick;
};

/* Reports one end per turn, as its last act: the callback may free us. */
static void on_auth_kick(struct kick *kick)
{
	struct mcp_auth *a = CONTAINER_OF(kick, struct mcp_auth, kick);
	AUTO_FREE struct waiter *w = a->first;

	a->first = w->next;
	if (!a->first)
		a->last = &a->first;
	else if (a->first->ended)
		loop_kick(a->env->loop, &a->kick);
	w->done(w->data, w->err.kind ? &w->err : NULL);
}

static void end_waiters(struct mcp_auth *a, const struct err *err)
{
	for (struct waiter *w = a->first; w; w = w->next) {
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

/* If the file cannot be written, only the next sign-in is lost, not this connection. */
static void save_grant(struct mcp_auth *a)
{
	if (a->env->auth_file)
		(void)oauth_store_put(a->env->auth_file, a->store_key, a->server->url, a->grant, NULL);
}

struct mcp_auth *mcp_auth_new(const struct mcp_env *env, const struct mcp_server *server)
{
	struct mcp_auth *a = xcalloc(1, sizeof *a);
	struct oauth_grant *stored = NULL;

	a->env = env;
	a->server = server;
	a->last = &a->first;
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
	for (struct waiter *w = a->first, *next; w; w = next) {
		next = w->next;
		free(w);
	}
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

static void on_flow_end(void *data, const struct auth_end *end)
{
	struct mcp_auth *a = data;
	struct err err = end->err ? *end->err : (struct err){ 0 };

	if (end->asked)
		a->asked_ms[a->asked++ % ASK_LIMIT] = loop_now_ms(a->env->loop);
	if (end->refresh_refused && a->grant && !end->grant) {
		struct oauth_grant *grant = oauth_grant_copy(a->grant);
		grant->token.refresh = NULL;
		grant->token.renew_ms = 0;
		set_grant(a, grant);
		save_grant(a);
	}
	if (end->grant) {
		a->renewed_at_ms = end->renewed ? loop_now_ms(a->env->loop) : 0;
		set_grant(a, oauth_grant_copy(end->grant));
		save_grant(a);
	}
	auth_flow_free(TAKE(a->flow));
	end_waiters(a, err.kind ? &err : NULL);
}

void mcp_auth_challenge(struct mcp_auth *a, int status, struct str www_authenticate, mcp_auth_fn *done, void *data)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct waiter *w = xcalloc(1, sizeof *w);
	struct err err = { 0 };

	w->done = done;
	w->data = data;
	*a->last = w;
	a->last = &w->next;
	if (a->flow)
		return;
	struct auth_wish wish = {
		.env = a->env,
		.server = a->server,
		.store_key = a->store_key,
		.grant = a->grant,
		.challenge = oauth_challenge_read(&arena, www_authenticate),
		.renew = may_renew(a),
		.only_renew = status == 0,
		.more = status == 403,
	};
	bool too_often =
		a->asked >= ASK_LIMIT && loop_now_ms(a->env->loop) - a->asked_ms[a->asked % ASK_LIMIT] < ASK_SPAN_MS;
	if (status == 403 && (!wish.challenge.error || strcmp(wish.challenge.error, "insufficient_scope") != 0)) {
		(void)err_set(&err, ERR_DENIED, "the server does not allow it (status 403)");
		end_waiters(a, &err);
	} else if (status && too_often) {
		(void)err_set(&err, ERR_DENIED, "signed in %d times within %d minutes, and the server still refuses",
			      ASK_LIMIT, ASK_SPAN_MS / 60000);
		end_waiters(a, &err);
	} else if (status == 0 && !wish.renew) {
		end_waiters(a, NULL);
	} else {
		a->flow = auth_flow_start(&wish, on_flow_end, a);
	}
}
