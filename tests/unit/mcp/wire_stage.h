/* SPDX-License-Identifier: MIT
 * wire_stage.h - a transport, the process around it, and a trail of all that it reported, one line each:
 * "message JSON", "log TEXT", "lost ID TEXT", "returned ID", "closed TEXT", with " needs-auth" or " again" behind it. */
#pragma once
#include "unit.h"
#include "lib/io/http_int.h"
#include "mcp/transport/transport.h"

struct wire {
	struct mcp_env env;
	struct mcp_server *server;
	struct mcp_transport *transport; /* NULL: it has closed */
	struct buf trail;
	unsigned closes;
	bool close_at_message; /* from inside on_message */
	bool quiet;            /* no log in the trail, only counted */
	size_t logs;
	const char *wanted; /* the loop runs until the trail has this */
	bool is_virtual;    /* the clock */
	struct timer guard; /* only keeps a broken build from hanging; by the real clock */
};

/* A server of this kind without anything else; its fields may be set until wire_start. */
void wire_init(struct wire *w, enum mcp_kind kind, unsigned loop_flags);
void wire_start(struct wire *w);
void wire_send(struct wire *w, int64_t id, const char *json);
/* Runs the loop until the trail has this text. */
void wire_wait(struct wire *w, const char *text);
void wire_close(struct wire *w); /* and waits for the end */
void wire_release(struct wire *w);
bool wire_has(const struct wire *w, const char *text);
