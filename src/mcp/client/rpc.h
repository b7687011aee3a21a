/* SPDX-License-Identifier: MIT
 * rpc.h - the JSON-RPC side of one client: messages out, messages in, and the requests that are open. For the files of this
 * room only.
 *
 * A request that is made before the connection is ready waits and is sent when it is. One that the server certainly has not
 * done is sent once more, under a new id: its session was forgotten, or the user had to visit an address first. Every
 * request has exactly one end: the answer, an error, a time limit, a cancel, a lost message or the end of the connection.
 * Whatever comes for it afterwards is ignored. */
#pragma once
#include "mcp/client/client.h"

struct mcp_rpc_handlers {
	/* A request of the peer; id is its JSON as it stood. Answer with mcp_rpc_result() or mcp_rpc_error(). */
	void (*on_request)(void *data, struct str id, struct str method, const struct json *params);
	void (*on_notice)(void *data, struct str method, const struct json *params);
	/* The peer does r only after the user was at some addresses (error -32042). True: r is held, see mcp_request_hold().
	 * False: that is its end. */
	bool (*on_barred)(void *data, struct mcp_request *r, const struct json *error);
	void (*on_held_end)(void *data, const struct mcp_request *r); /* one that is held ends */
	/* Something that the peer sent has no use; text is a line for people. */
	void (*on_fault)(void *data, const char *text);
};

struct mcp_rpc {
	struct loop *loop;
	const char *server;              /* its name, for errors; borrowed */
	struct mcp_transport *transport; /* borrowed; NULL: not connected */
	bool ready;                      /* requests that wait may go */
	const struct mcp_rpc_handlers *handlers;
	void *data;
	struct mcp_request **slots; /* an open request is at id % cap: an id whose place is taken is never given */
	size_t cap, count;
	int64_t last_id;
	struct json_reader reader;
	uint64_t second_ms; /* when the second began in which are counted: */
	unsigned unasked;   /* messages that are no answers */
};

void mcp_rpc_release(struct mcp_rpc *rpc); /* no request is open any more */

void mcp_rpc_connect(struct mcp_rpc *rpc, struct mcp_transport *transport); /* only urgent requests are sent yet */
void mcp_rpc_ready(struct mcp_rpc *rpc);                                    /* sends those that waited */
/* The transport is gone. Requests that were sent end with an error that says why; those that wait go on waiting. */
void mcp_rpc_disconnect(struct mcp_rpc *rpc, const struct err *why);
void mcp_rpc_fail_all(struct mcp_rpc *rpc, const struct err *why); /* also those that wait */

/* idle_ms: ends when nothing was heard of it for so long; 0: no such limit. urgent: belongs to the handshake. call is
 * borrowed until return. */
struct mcp_request *mcp_rpc_call(struct mcp_rpc *rpc, const struct mcp_call *call, uint64_t timeout_ms,
				 uint64_t idle_ms, bool urgent);
/* Ends it with this error on the next loop turn. */
void mcp_request_refuse(struct mcp_request *r, const struct err *why);
/* No time limit runs while it is held. After as many resumes as there were holds it is sent again. */
void mcp_request_hold(struct mcp_request *r);
void mcp_request_resume(struct mcp_request *r);
void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, struct str params); /* params: empty: none */
void mcp_rpc_result(struct mcp_rpc *rpc, struct str id, struct str result);
void mcp_rpc_error(struct mcp_rpc *rpc, struct str id, int code, const char *text);

void mcp_rpc_receive(struct mcp_rpc *rpc, struct str json);
void mcp_rpc_lost(struct mcp_rpc *rpc, int64_t id, const struct err *err);
/* The server has not looked at it, and the connection is about to end: it waits for the next one, if it did not before. */
void mcp_rpc_returned(struct mcp_rpc *rpc, int64_t id);
/* notifications/progress: a sign of life of the request that its token names. */
void mcp_rpc_progress(struct mcp_rpc *rpc, const struct json *params);
