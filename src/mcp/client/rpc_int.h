/* SPDX-License-Identifier: MIT
 * rpc_int.h - an open request, for rpc*.c. */
#pragma once
#include "mcp/client/rpc.h"

struct mcp_request {
	struct mcp_rpc *rpc; /* borrowed: has no request left when it dies */
	int64_t id;
	char *method, *tool_use_id; /* tool_use_id NULL: none */
	struct buf params;          /* JSON object, or empty */
	bool sent;                  /* otherwise it waits until the connection is ready */
	bool urgent;                /* belongs to the handshake and its connection */
	bool again;                 /* it was sent a second time: not a third one */
	unsigned held;              /* until mcp_request_resume() was called so often it is not sent again */
	mcp_answer_fn *answer;
	mcp_progress_fn *progress;
	void *data;
	struct timer timer; /* the nearer one of both limits */
	uint64_t timeout_ms, idle_ms;
	uint64_t deadline_ms; /* on the loop's clock */
	struct kick kick;     /* tells an end that was decided outside the loop */
	struct err end;       /* that end */
	bool over;            /* it was decided */
};

struct mcp_request *mcp_rpc_find(const struct mcp_rpc *rpc, int64_t id); /* NULL: not open */
void mcp_rpc_send(struct mcp_rpc *rpc, int64_t id, struct buf *message);
/* result: of an error of the server's, its error object. Frees r, then tells. */
void mcp_request_end(struct mcp_request *r, const struct json *result, const struct err *err);
