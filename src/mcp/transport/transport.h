/* SPDX-License-Identifier: MIT
 * transport.h - transports for JSON-RPC messages. A transport carries whole messages and interprets only what its
 * protocol needs. Three kinds: a child process (stdio), streamable HTTP, HTTP with the older event stream; a fourth is
 * supplied by the host (SDK servers).
 *
 * All callbacks come from the loop, never from inside a function of the transport. on_closed is the last one, exactly
 * once after start() succeeded; the transport frees itself after it. After close() only on_closed comes.
 * docs/internals/mcp_transport.md. */
#pragma once
#include "mcp/servers/server.h"

struct mcp_transport;

enum { MCP_MESSAGE_LIMIT = 64 << 20 }; /* bytes of one message */

struct mcp_transport_handlers {
	/* One message, valid JSON; borrowed until return. */
	void (*on_message)(void *data, struct str json);
	/* A log line: the server's stderr, or a diagnostic about it. */
	void (*on_log)(void *data, struct str line);
	/* A sent message will get no answer (its HTTP request failed); id as given to send. */
	void (*on_lost)(void *data, int64_t id, const struct err *err);
	/* A request that the server certainly has not processed, because it dropped the session. on_closed follows; a
	 * new connection may send it again. May be NULL. */
	void (*on_returned)(void *data, int64_t id);
	/* The end. err NULL: close() was called. `needs_auth`: the server requires authorisation by the user. `again`:
	 * the session expired; a new one may be opened at once. */
	void (*on_closed)(void *data, const struct err *err, bool needs_auth, bool again);
};

struct mcp_transport_class {
	size_t size; /* of its struct; unused for a host's transport */
	int (*start)(struct mcp_transport *t, struct err *err);
	/* id: that of a request, 0 for all other messages. json is copied. */
	void (*send)(struct mcp_transport *t, int64_t id, struct str json);
	/* The answer to this request is no longer needed; its connection may be closed. May be NULL. */
	void (*drop)(struct mcp_transport *t, int64_t id);
	/* After the answer to initialize: the protocol version for later headers. Called before
	 * notifications/initialized is sent; after that was accepted, the stream for server messages is opened. May be
	 * NULL. */
	void (*ready)(struct mcp_transport *t, const char *version);
	void (*close)(struct mcp_transport *t); /* ends the session; on_closed follows */
	void (*free)(struct mcp_transport *t);  /* only if not started */
};

/* The head of each kind's own struct */
struct mcp_transport {
	const struct mcp_transport_class *class;
	struct mcp_transport_handlers handlers;
	void *data;
	struct mcp_server *server; /* reference */
	const struct mcp_env *env;
};

extern const struct mcp_transport_class mcp_transport_stdio, mcp_transport_http, mcp_transport_sse;

/* By the server's kind (not MCP_SDK). Returns owned until start succeeds; class->free frees it before that. */
struct mcp_transport *mcp_transport_new(const struct mcp_env *env, struct mcp_server *server,
					const struct mcp_transport_handlers *handlers, void *data);
