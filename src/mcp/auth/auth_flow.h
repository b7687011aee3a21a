/* SPDX-License-Identifier: MIT
 * auth_flow.h - one run that gets a grant: by renewing the one in hand, or from discovery to consent. States:
 * docs/internals/mcp_auth.md. */
#pragma once
#include "mcp/auth/oauth_challenge.h"
#include "mcp/auth/oauth_grant.h"
#include "mcp/servers/server.h"
#include "mcp/servers/world.h"

struct auth_flow;

/* Borrowed until auth_flow_start returns, but world and server, which outlive the run */
struct auth_wish {
	const struct mcp_world *world;
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
