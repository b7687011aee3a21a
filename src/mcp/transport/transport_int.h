/* SPDX-License-Identifier: MIT
 * transport_int.h - what the three transports of this room share: messages out of bytes, bad news that must wait for the
 * loop, a log that a flood cannot fill, and the end.
 *
 * Life of a transport: running -> closing (close was called, or it failed: nothing is sent or handed on any more, what runs
 * is ended) -> over (nothing runs: on_closed, freed). */
#pragma once
#include "lib/json/json.h"
#include "mcp/transport/transport.h"

struct mcp_loss;

struct mcp_core {
	struct mcp_transport t; /* first: a class casts its argument */
	struct kick kick;
	struct mcp_loss *losses, **losses_end; /* to be told, in order */
	bool closing, over;
	struct err end; /* kind 0: closed on request */
	bool needs_auth, again;
	uint64_t log_since_ms; /* start of the second that log_lines counts */
	unsigned log_lines, log_left_out;
};

void mcp_core_init(struct mcp_core *c);    /* at start */
void mcp_core_release(struct mcp_core *c); /* also of one that was never started */

/* One line for people, at most some hundred a second. */
void mcp_core_log(struct mcp_core *c, const char *fmt, ...) printf_like(2, 3);
/* The text is a message, or an array of them (protocol 2025-03-26): each goes to on_message. *ret_answered becomes true when
 * one of them answers request `id` and is otherwise left alone; may be NULL. What is neither is -ERR_PARSE. */
int mcp_core_message(struct mcp_core *c, struct str text, int64_t id, bool *ret_answered, struct err *err);
/* on_lost follows from the loop; without an id there is nothing to lose and the text goes to the log. */
void mcp_core_lose(struct mcp_core *c, int64_t id, const struct err *err);

/* Begins the end; the first reason counts. err NULL: on request. false: it had begun already. The class ends what runs and
 * then calls mcp_core_over, after which it only waits to be freed. */
bool mcp_core_close(struct mcp_core *c, const struct err *err);
void mcp_core_over(struct mcp_core *c);

/* What env gives (only the names that every program needs, with CLAUDE_CODE_MCP_ALLOWLIST_ENV on; no secrets for a server of
 * a project), the entries of the server, ours; of a name that comes twice the later one counts. NULL-terminated; lives in the arena or is borrowed from
 * env and server. */
const char *const *mcp_server_environment(const struct mcp_env *env, const struct mcp_server *server,
					  struct arena *arena);
