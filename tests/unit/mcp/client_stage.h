/* SPDX-License-Identifier: MIT
 * client_stage.h - a client in front of a scripted server, and a trail of all that it told. */
#pragma once
#include "unit.h"
#include "mcp/client/client.h"
#include "peer.h"

struct client_stage {
	struct peer peer;
	struct mcp_client *client;
	struct buf trail; /* states, catalogs */
	struct buf log;
	struct buf ends;                              /* of calls */
	struct mcp_elicitation *asked, *asked_before; /* the last two */
	bool answer_at_once;
	unsigned gone, closed;
	double progress;
};

void client_stage_init(struct client_stage *s);
void client_stage_connect(struct client_stage *s); /* makes the client and runs until nothing is left to do */
void client_stage_release(struct client_stage *s); /* closes it; it must say so once */
/* A tools/call; 0: without a limit of its own. Its end is written to s->ends. */
struct mcp_request *client_ask(struct client_stage *s, const char *params, uint64_t timeout_ms);
void client_on_closed(void *data); /* counts in s->closed */
