/* SPDX-License-Identifier: MIT
 * site.h - an MCP server over HTTP in a test: a function that answers each request, and a log of all requests. */
#pragma once
#include <pthread.h>
#include "../io/http_server.h"
#include "unit.h"

struct site {
	struct server *server;
	/* Answers one request, in the thread of its connection. false: the connection is closed. */
	bool (*answer)(struct site *site, struct peer *p);
	pthread_mutex_t lock;
	pthread_cond_t may_go, has_seen;
	bool go;
	struct buf log;      /* "METHOD PATH BODY\n" of each request */
	unsigned count;      /* requests so far */
	double times_ms[64]; /* when each of them came */
	const char *text;    /* of the test */
	char url[80];
};

void site_start(struct site *s, bool (*answer)(struct site *site, struct peer *p));
void site_stop(struct site *s); /* after the client is gone */
bool site_saw(struct site *s, const char *text);
int site_times(struct site *s, const char *text);  /* how often it came */
void site_await(struct site *s, const char *text); /* blocks until it has seen this: for what is on its way already */
unsigned site_count(struct site *s);
void site_wait_go(struct site *s); /* in a thread of the server: until site_go */
void site_go(struct site *s);

/* Of the request that is being answered */
bool peer_is(const struct peer *p, const char *start); /* of the request line: "POST /mcp" */
bool peer_has(const struct peer *p, const char *text); /* in the body */
const char *peer_header(const struct peer *p, const char *name, char *out, size_t room); /* all of that name */
/* headers: "Name: value\r\n" of each */
void peer_reply(struct peer *p, const char *status, const char *headers, const char *body);
void peer_json(struct peer *p, const char *body);     /* 200 */
void peer_stream(struct peer *p, const char *events); /* 200, chunked; the stream stays open */
void peer_events(struct peer *p, const char *events); /* more of it */
void peer_stream_end(struct peer *p);
