/* SPDX-License-Identifier: MIT
 * auth_flow.h - one flow that gets a grant: by renewing the present one, or from discovery to consent. States:
 * docs/internals/mcp_auth.md. For the files of this room only. */
#pragma once
#include "mcp/auth/oauth_callback.h"
#include "mcp/auth/oauth_discovery.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "mcp/servers/server.h"
#include "mcp/servers/env.h"

struct auth_flow;

/* Borrowed until auth_flow_start returns, but env and server, which outlive the run */
struct auth_wish {
	const struct mcp_env *env;
	const struct mcp_server *server;
	const char *store_key;           /* of this server; "" if there is no file */
	const struct oauth_grant *grant; /* in hand; NULL: none */
	struct oauth_challenge challenge;
	bool renew;      /* with the refresh token of grant, if that will do */
	bool only_renew; /* and nothing else, should that fail */
	bool more;       /* a step-up: what grant has is asked for again, with what the challenge wants */
};

/* How it ended. Exactly one of grant and err is there, both borrowed until the flow is freed, which fn may do. */
struct auth_end {
	const struct oauth_grant *grant;
	bool renewed;         /* with a refresh token */
	bool asked;           /* a person was */
	bool refresh_refused; /* the refresh token in hand is worth nothing any more */
	const struct err *err;
};
typedef void auth_flow_fn(void *data, const struct auth_end *end);

/* fn comes from the loop, exactly once, unless the flow is freed before. Returns owned. */
struct auth_flow *auth_flow_start(const struct auth_wish *wish, auth_flow_fn *fn, void *data);
void auth_flow_free(struct auth_flow *f); /* ends what runs; NULL is allowed */

/* ---- what the states share. A step looks at the facts, starts something or takes its result, and says whether to continue.
 * At most one fetch exists at a time. ---- */

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

enum auth_step { AUTH_AGAIN, AUTH_WAIT };

/* What a token is asked for with */
enum auth_grant_kind { AUTH_CODE, AUTH_CLIENT_CREDENTIALS, AUTH_ASSERTION };

struct auth_flow {
	const struct mcp_env *env;
	const struct mcp_server *server;
	struct arena arena;      /* of all texts that are not in had */
	struct oauth_grant *had; /* owned; NULL: none */
	const char *store_key;
	struct oauth_challenge challenge;
	bool renew, only_renew, more;
	auth_flow_fn *fn;
	void *data;

	enum auth_state state;
	struct kick kick;
	struct timer limit; /* of CONSENT */
	bool late;
	struct oauth_fetch *fetch; /* NULL: none */
	struct oauth_callback *callback;

	bool loopback_allowed;              /* the server itself is there */
	struct oauth_candidates candidates; /* of the document that is looked for */
	size_t candidate;
	bool has_resource; /* the server has a document of its own: not the rules of 2025-03-26 */
	struct oauth_resource resource;
	struct oauth_issuer issuer;
	enum auth_grant_kind kind;
	const char *secret, *verifier; /* `state` of the callback, and of PKCE */
	const char *code;              /* or the assertion */
	bool client_is_gone;           /* the client of had is unknown there by now */

	struct oauth_grant grant;             /* being put together; borrows from arena */
	bool renewed, refresh_refused, asked; /* as in struct auth_end */
	struct err err;
};

/* ---- for steps (auth_flow.c) ---- */

enum auth_step auth_flow_enter(struct auth_flow *f,
			       enum auth_state state); /* ends the fetch; what borrows from it is gone */
enum auth_step auth_flow_fail(struct auth_flow *f);    /* the end, with what err holds */
void auth_flow_get(struct auth_flow *f, const char *url);
/* type: Content-Type. authorization: a header or NULL. */
void auth_flow_post(struct auth_flow *f, const char *url, const char *type, const char *authorization, struct str body);
const char *auth_flow_redirect_uri(struct auth_flow *f);

enum auth_step auth_step_renew(struct auth_flow *f);    /* oauth_token.c */
enum auth_step auth_step_identity(struct auth_flow *f); /* oauth_token.c */
enum auth_step auth_step_grant(struct auth_flow *f);    /* oauth_token.c */
enum auth_step auth_step_resource(struct auth_flow *f); /* oauth_discovery.c */
enum auth_step auth_step_issuer(struct auth_flow *f);   /* oauth_discovery.c */
