/* SPDX-License-Identifier: MIT
 * transport_int.h - common part of the three transports: message parsing, deferred failures, a rate-limited log, and
 * the end.
 *
 * Life of a transport: running -> closing (close was called, or it failed: no more messages, running work is cancelled)
 * -> over (on_closed, freed). */
#pragma once
#include "lib/json/json.h"
#include "mcp/transport/transport.h"

struct mcp_loss;

struct mcp_core {
	struct mcp_transport t; /* first; and a core is the first member of each kind's struct */
	struct kick kick;
	struct mcp_loss *losses; /* to be reported, in order */
	bool closing, over;
	struct err end; /* kind 0: closed on request */
	bool needs_auth, again;
	uint64_t log_since_ms; /* start of the second that log_lines counts */
	unsigned log_lines, log_left_out;
};

void mcp_core_release(struct mcp_core *c); /* also if never started */

/* One log line, at most some hundred a second. */
void mcp_core_log(struct mcp_core *c, const char *fmt, ...) printf_like(2, 3);
/* The text is a message, or an array of them (protocol 2025-03-26): each goes to on_message. *ret_answered is set to
 * true if one of them answers request `id`; may be NULL. Anything else is -ERR_PARSE. */
int mcp_core_message(struct mcp_core *c, struct str text, int64_t id, bool *ret_answered, struct err *err);
/* on_lost follows from the loop; without an id the text goes to the log. */
void mcp_core_lose(struct mcp_core *c, int64_t id, const struct err *err);

/* Starts closing; the first reason wins. err NULL: on request. false: already closing. The class ends its work and then
 * calls mcp_core_over. */
bool mcp_core_close(struct mcp_core *c, const struct err *err);
void mcp_core_over(struct mcp_core *c);

/* The child's environment: env (basic variables only with CLAUDE_CODE_MCP_ALLOWLIST_ENV; no secrets for a project's
 * server), then the server's entries, then ours; later values win. NULL-terminated; in the arena or borrowed from env
 * and server. */
const char *const *mcp_server_environment(const struct mcp_env *env, const struct mcp_server *server,
					  struct arena *arena);
