/* SPDX-License-Identifier: MIT
 * pool_int.h - connections and links, for pool.c, link.c and set.c. */
#pragma once
#include "lib/base/map.h"
#include "mcp/client/pool.h"
#include "mcp/client/toolbox.h"

enum mcp_lane { MCP_LANE_PROCESS, MCP_LANE_REMOTE, MCP_LANES };

/* One client and those who use it */
struct mcp_conn {
	struct mcp_pool *pool; /* borrowed */
	struct mcp_client *client;
	struct mcp_link *links;
	enum mcp_lane lane;
	bool waiting;                  /* in the lane, for a place to connect in */
	bool has_place;                /* counted among those that connect */
	struct mcp_conn *next, **prev; /* in the lane */
	struct timer grace;            /* nobody uses it: until it is ended */
	struct mcp_toolbox *boxes;     /* references: the present catalog's tools, one for each server name */
};

struct mcp_link {
	struct mcp_pool *pool;     /* borrowed */
	struct mcp_conn *conn;     /* borrowed; NULL: disabled, or the pool was drained */
	struct mcp_server *server; /* reference */
	struct mcp_link *next, **prev;
	struct kick kick; /* brings on_change */
	void (*on_change)(void *data);
	void *data;
	bool disabled;
	struct mcp_link_call *calls; /* open ones */
	struct mcp_toolbox **boxes;  /* references: all that were handed out */
	size_t box_count;
};

/* link.c */
void mcp_link_changed(struct mcp_link *l);
struct loop *mcp_pool_loop(const struct mcp_pool *p);
/* pool.c. attach: finds or makes the connection. detach: the last one starts the grace. */
void mcp_conn_attach(struct mcp_link *l);
void mcp_conn_detach(struct mcp_link *l);
