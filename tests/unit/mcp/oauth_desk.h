/* SPDX-License-Identifier: MIT
 * oauth_desk.h - an MCP server and its authorisation server in one, on loopback, that answers by rules; with the client's side
 * of it: a loop, a file for tokens, and a browser that agrees to everything. */
#pragma once
#include <pthread.h>
#include "../io/http_server.h"
#include "mcp/auth/auth.h"
#include "mcp/auth/oauth_http.h"
#include "unit.h"

/* "$U" in body and location is the address of the server without a slash at the end, "$P" its port. A location: a redirect. */
struct desk_rule {
	const char *request; /* "GET /path", without the query */
	int status;
	const char *body, *location;
	unsigned uses; /* 0: as often as asked; else gone after so many */
};

/* The log of a run that finds all documents, and of one in which a person agrees */
#define DESK_FOUND     "GET /.well-known/oauth-protected-resource/mcp 200, GET /.well-known/oauth-authorization-server 200"
#define DESK_SIGNED_IN "GET /authorize 302, POST /token 200"

enum { DESK_RULES = 16, DESK_BROWSERS = 8 };

struct desk {
	struct server *server;
	pthread_mutex_t lock; /* of what follows, up to form */
	struct desk_rule rules[DESK_RULES];
	size_t rule_count;
	const char *
		authorize_extra; /* behind the query of the redirect to the callback; "&error=..." takes the code's place */
	struct buf log;          /* "GET /path 200, ..." */
	struct buf form;         /* body of the last POST /token */
	struct buf head;         /* and its head */
	struct buf query;        /* of the last GET /authorize */
	struct buf registration; /* body of the last POST /register */

	struct loop *loop;
	struct http *http;
	char dir[FOLDER_MAX], file[96], url[96];
	struct mcp_env env;
	struct mcp_server config;
	struct mcp_auth *auth;
	struct oauth_fetch *browsers[DESK_BROWSERS];
	size_t browser_count;
	size_t visits; /* of browsers */
	unsigned ends;
	struct err err; /* of the last end; kind 0: none */
};

/* With the documents of a server that has everything. */
void desk_init(struct desk *d);
void desk_release(struct desk *d);
/* What the server says to a request from now on; body NULL: "{}". */
void desk_says(struct desk *d, const char *request, int status, const char *body);
void desk_once(struct desk *d, const char *request, int status, const char *body); /* and then as before */
void desk_moves(struct desk *d, const char *request, const char *location);
void desk_no_person(struct desk *d);
void desk_new_auth(struct desk *d); /* as another process would; the old one is freed */
/* One challenge and its end. Returns what came of it: "ok", or the text of the error. */
const char *desk_challenge(struct desk *d, int status, const char *www_authenticate);
const char *desk_log(struct desk *d); /* since the last call; valid until the next */
const char *desk_field(struct desk *d, struct buf *form, const char *name); /* "" if it is not there */
void desk_on_end(void *desk, const struct err *err);                        /* a mcp_auth_fn that counts */
