/* SPDX-License-Identifier: MIT
 * auth_flow.h - one OAuth flow: refreshes a grant, or goes from discovery to consent. States:
 * docs/internals/mcp_auth.md. Internal to this room. */
#pragma once
#include "mcp/auth/oauth_discovery.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "mcp/servers/server.h"
#include "lib/base/arena.h"
#include "lib/io/loop.h"

/* What the states share. A step looks at the facts and starts something or takes its result. It returns an enum
 * auth_step, or a negative error kind: the flow ends with err. At most one fetch exists at a time; it is over when a step runs, but
 * that of CONSENT. */

enum auth_state {
	AUTH_RENEW,
	AUTH_RESOURCE,
	AUTH_ISSUER,
	AUTH_CLIENT,
	AUTH_REGISTER,
	AUTH_CONSENT,
	AUTH_IDENTITY,
	AUTH_GRANT,
	AUTH_END,
};

enum auth_step { AUTH_WAIT, AUTH_AGAIN };

/* Parameters of a token request */
enum auth_grant_kind { AUTH_CODE, AUTH_CLIENT_CREDENTIALS, AUTH_ASSERTION };

struct auth_flow {
	const struct mcp_env *env; /* borrowed, as are the two below */
	const struct mcp_server *server;
	const char *store_key;   /* of this server; "" if there is no file */
	struct arena arena;      /* of all texts that are not in had */
	struct oauth_grant *had; /* owned; NULL: none */
	struct oauth_challenge challenge;
	bool renew;                        /* try the refresh token of had first */
	bool only_renew;                   /* and do nothing else if that fails */
	bool more;                         /* step-up: request the scopes of had and of the challenge */
	void (*over)(struct auth_flow *f); /* at AUTH_END: grant counts, or err is why there is none; may free f */
	void *data;

	enum auth_state state;
	struct kick kick;
	struct timer limit; /* of CONSENT */
	bool late;
	struct oauth_fetch *fetch; /* NULL: none */
	struct oauth_callback *callback;

	bool loopback_allowed;              /* the URL of the server */
	struct oauth_candidates candidates; /* index of the metadata document being fetched */
	size_t candidate;
	bool has_resource; /* the server has resource metadata: not protocol 2025-03-26 */
	struct oauth_resource resource;
	struct oauth_issuer issuer;
	enum auth_grant_kind kind;
	const char *secret, *verifier; /* `state` of the callback, and of PKCE */
	const char *code;              /* or the assertion */
	bool client_is_gone;           /* the server no longer knows the client of had */

	struct oauth_grant grant; /* being assembled; borrows from arena and had */
	bool renewed;             /* with a refresh token */
	bool asked;               /* with the user's consent */
	bool refresh_refused;     /* the refresh token is no longer valid */
	struct err err;
};

/* For steps (auth_flow.c). */

enum auth_step auth_flow_enter(struct auth_flow *f,
			       enum auth_state state); /* ends the fetch and everything borrowed from it */
void auth_flow_fetch(struct auth_flow *f, const struct oauth_request *request); /* replaces the fetch */
const char *auth_flow_redirect_uri(struct auth_flow *f);

int auth_step_renew(struct auth_flow *f);    /* oauth_token.c */
int auth_step_identity(struct auth_flow *f); /* oauth_token.c */
int auth_step_grant(struct auth_flow *f);    /* oauth_token.c */
int auth_step_resource(struct auth_flow *f); /* oauth_discovery.c */
int auth_step_issuer(struct auth_flow *f);   /* oauth_discovery.c */

/* oauth_callback.c: the redirect URI on this machine, http://localhost:PORT/callback. It accepts one answer, the one
 * with our state; all other requests get a page without effect. */

/* NULL: not given */
struct oauth_reply {
	const char *code, *error, *description, *issuer;
};

/* Listens on 127.0.0.1. port 0: any. notify comes from the loop, once, after the answer. state is copied. */
int oauth_callback_open(struct loop *loop, unsigned port, const char *state, void (*notify)(void *data), void *data,
			struct oauth_callback **ret_callback, struct err *err);
/* Accepts no more requests; pages being sent are completed. notify is not called. NULL is allowed. */
void oauth_callback_close(struct oauth_callback *c);
unsigned oauth_callback_port(const struct oauth_callback *c);
const struct oauth_reply *oauth_callback_reply(
	const struct oauth_callback *c); /* NULL: not yet; borrowed until close */
