/* SPDX-License-Identifier: MIT
 * auth_flow_int.h - what the states of a run share. A step looks at the facts, starts something or takes its result, and says
 * whether to go on. At most one fetch is there at a time. */
#pragma once
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_callback.h"
#include "mcp/auth/oauth_fetch.h"
#include "mcp/auth/oauth_metadata.h"

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
	const struct mcp_world *world;
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

	bool loopback_allowed;      /* the server itself is there */
	struct oauth_places places; /* of the document that is looked for */
	size_t place;
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

enum auth_step auth_go(struct auth_flow *f, enum auth_state state); /* ends the fetch; what borrows from it is gone */
enum auth_step auth_fail(struct auth_flow *f);                      /* the end, with what err holds */
void auth_get(struct auth_flow *f, const char *url);
/* type: Content-Type. authorization: a header or NULL. */
void auth_post(struct auth_flow *f, const char *url, const char *type, const char *authorization, struct str body);
void auth_notify(void *flow); /* a fact was recorded somewhere: one step, on the next turn */
const char *auth_redirect(struct auth_flow *f);

enum auth_step auth_step_renew(struct auth_flow *f);    /* auth_token.c */
enum auth_step auth_step_identity(struct auth_flow *f); /* auth_token.c */
enum auth_step auth_step_grant(struct auth_flow *f);    /* auth_token.c */
enum auth_step auth_step_resource(struct auth_flow *f); /* auth_discover.c */
enum auth_step auth_step_issuer(struct auth_flow *f);   /* auth_discover.c */
enum auth_step auth_step_client(struct auth_flow *f);   /* auth_client.c */
enum auth_step auth_step_register(struct auth_flow *f); /* auth_client.c */
enum auth_step auth_step_consent(struct auth_flow *f);  /* auth_consent.c */
