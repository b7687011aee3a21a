/* SPDX-License-Identifier: MIT
 * peer.h - a scripted MCP server behind a transport of its own, in the same process and on a virtual clock.
 *
 * It answers initialize and the lists from its fields; what else it is asked it notes in `sent`, one message a line, and the
 * test answers with peer_say(). Everything reaches the client from the loop. */
#pragma once
#include "unit.h"
#include "mcp/client/pool.h"

struct peer_message;

struct peer {
	struct loop *loop;
	struct mcp_env env;
	struct mcp_server *server; /* "srv", a process; fields may be changed before it is used */
	/* what it answers; JSON */
	const char *version, *capabilities, *instructions;
	const char *tools; /* the members of an array */
	const char *prompts, *resources;
	bool mute;              /* answers nothing by itself */
	unsigned refuse_starts; /* so many starts fail */
	unsigned fail_lists;    /* so many list requests are answered with an error */
	bool endless_pages;
	/* what happened */
	unsigned starts, closes, dropped, alive, most_alive;
	const char *ready_version;
	struct buf sent;                 /* what came besides initialize and lists */
	struct buf lists;                /* the list requests */
	struct mcp_transport *transport; /* the newest that runs */
	struct peer_message *first, **last;
	struct kick kick;
};

void peer_init(struct peer *p);
void peer_release(struct peer *p);
struct mcp_transport *peer_transport(void *data, struct mcp_server *server,
				     const struct mcp_transport_handlers *handlers, void *handler_data);
struct mcp_server *peer_server(const char *name, const char *key, enum mcp_kind kind); /* returns owned */
void peer_say(struct peer *p, const char *fmt, ...) printf_like(2, 3); /* a message, on the next turn of the loop */
void peer_die(struct peer *p, const char *why, bool needs_auth, bool again); /* the newest transport, from the loop */
void peer_lose(struct peer *p, int64_t id, const char *why);
void peer_return(struct peer *p, int64_t id); /* peer_die() follows */
bool peer_was_sent(const struct peer *p, const char *text);
int64_t peer_last_id(const struct peer *p);     /* of the last request in `sent`; 0: none */
void peer_run_for(struct peer *p, uint64_t ms); /* on the virtual clock */
