/* SPDX-License-Identifier: MIT
 * rpc.h - JSON-RPC of one client: messages and open requests. Internal to this room.
 *
 * A request before the connection is ready waits for it. One that the server certainly has not processed is sent again,
 * with a new id: its session expired, or the user had to visit a URL first. Every request ends exactly once: with the
 * answer, an error, a timeout, a cancel, a lost message or the end of the connection. Later messages for it are
 * ignored. */
#pragma once
#include "mcp/client/client.h"

struct mcp_rpc_handlers {
	/* A request of the peer; id is its raw JSON. Answer with mcp_rpc_reply() or mcp_rpc_error(). */
	void (*on_request)(void *data, struct str id, struct str method, const struct json *params);
	void (*on_notice)(void *data, struct str method, const struct json *params);
	/* The peer requires the user to visit URLs first (error -32042). True: r is held, see mcp_request_hold().
	 * False: r ends. */
	bool (*on_barred)(void *data, struct mcp_request *r, const struct json *error);
	void (*on_held_end)(void *data, const struct mcp_request *r); /* a held request ends */
	/* A message was ignored; text: the reason, for the log. */
	void (*on_fault)(void *data, const char *text);
};

struct mcp_rpc {
	struct loop *loop;
	const char *server;              /* its name, for errors; borrowed */
	struct mcp_transport *transport; /* borrowed; NULL: not connected. Set by the client */
	bool ready;                      /* waiting requests may be sent */
	const struct mcp_rpc_handlers *handlers;
	void *data;
	struct mcp_request **slots; /* an open request is at id % cap; ids of occupied entries are skipped */
	size_t cap, count;
	int64_t last_id;
	struct json_reader reader;
	uint64_t second_ms; /* start of the second for: */
	unsigned unasked;   /* messages that are not answers */
};

void mcp_rpc_ready(struct mcp_rpc *rpc); /* sends waiting requests; before this, only urgent ones are sent */
/* Ends all sent requests with an error, and those that wait for the connection if waiting_too. */
void mcp_rpc_fail(struct mcp_rpc *rpc, const struct err *why, bool waiting_too);

/* idle_ms: timeout without progress; 0: none. urgent: part of the handshake. call is borrowed until return. */
struct mcp_request *mcp_rpc_call(struct mcp_rpc *rpc, const struct mcp_call *call, uint64_t timeout_ms,
				 uint64_t idle_ms, bool urgent);
/* Ends it with this error on the next loop turn. */
void mcp_request_refuse(struct mcp_request *r, const struct err *why);
void mcp_rpc_cancel_owned(struct mcp_rpc *rpc, const void *owner,
			  const char *reason); /* all requests with that owner */
/* Stops its timeouts. It is sent again after as many resumes as holds. */
void mcp_request_hold(struct mcp_request *r);
void mcp_request_resume(struct mcp_request *r);
void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, struct str params);             /* params: empty: none */
void mcp_rpc_reply(struct mcp_rpc *rpc, struct str id, const char *member, struct str json); /* member: "result" */
void mcp_rpc_error(struct mcp_rpc *rpc, struct str id, int code, const char *text);

void mcp_rpc_receive(struct mcp_rpc *rpc, struct str json);
void mcp_rpc_lost(struct mcp_rpc *rpc, int64_t id, const struct err *err);
/* The server has not processed it, and the connection is ending: it waits for the next connection, once. */
void mcp_rpc_returned(struct mcp_rpc *rpc, int64_t id);
/* notifications/progress: restarts the idle timeout of the request with this token. */
void mcp_rpc_progress(struct mcp_rpc *rpc, const struct json *params);
