/* SPDX-License-Identifier: MIT
 * client_int.h - one connection, for client*.c and catalog.c. */
#pragma once
#include "mcp/client/rpc.h"

#define MCP_PHASES(X)                                             \
	X(NEW)       /* not started */                            \
	X(WAIT)      /* for the timer: the next try */            \
	X(HANDSHAKE) /* the transport runs, initialize is open */ \
	X(LISTS)     /* the first lists are being fetched */      \
	X(READY)                                                  \
	X(ENDING) /* closing the transport */                     \
	X(DOWN)   /* failed, or needs authorisation */
enum mcp_phase {
#define X(name) MCP_PHASE_##name,
	MCP_PHASES(X)
#undef X
};

enum mcp_list_kind { MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES, MCP_LIST_KINDS };

/* One of the lists of a server */
struct mcp_list {
	struct mcp_client *client;
	enum mcp_list_kind kind;
	bool offered; /* the server has this list */
	bool busy;    /* being fetched */
	bool dirty;   /* changed while it was being fetched */
	uint64_t changed_ms;
	unsigned changes;   /* in a row, less than a minute apart */
	struct timer timer; /* delay before a refetch, after a change or a failure */
	unsigned pages, failures;
	size_t count;
	struct buf cursor; /* JSON of the next cursor; empty: first page */
	struct buf items;  /* items so far, with commas */
	struct buf text;   /* the last complete list: a JSON array; empty: none yet */
};

struct mcp_client {
	struct mcp_client_options options;
	struct loop *loop;
	struct mcp_server *server; /* reference */
	bool is_remote;
	uint64_t connect_ms, call_ms, idle_ms;
	enum mcp_phase phase;
	struct kick kick;
	struct mcp_transport *transport; /* owned until start succeeded; NULL: none */
	struct mcp_rpc rpc;

	struct timer timer; /* the next try */
	bool was_ready;     /* since the last manual start */
	unsigned failures;  /* in a row; reset by a connection that lasts a minute */
	uint64_t ready_ms;  /* when it became ready */
	bool gone;          /* fact: the transport has ended */
	bool needs_auth, again;
	struct err error; /* the last connection error */

	struct mcp_list lists[MCP_LIST_KINDS];
	bool lists_differ; /* a list differs from the catalog */
	struct buf hello;  /* the result of initialize */
	struct mcp_catalog *catalog;
	struct elicitation *elicitations; /* open ones */
	size_t elicitation_count;

	bool state_changed, catalog_changed; /* not yet reported */
	bool closing;
	void (*closed)(void *data);
	void *closed_data;
};

/* client.c */
uint64_t mcp_env_number(const char *variable, uint64_t otherwise); /* anything but a positive number counts as unset */
void mcp_client_set_phase(struct mcp_client *c, enum mcp_phase phase); /* the only assignment */
void mcp_client_log(struct mcp_client *c, const char *level, const char *fmt, ...) printf_like(3, 4);
/* client_requests.c */
extern const struct mcp_rpc_handlers mcp_client_rpc_handlers; /* requests and notifications of the server */
void mcp_elicitations_drop(struct mcp_client *c);
/* catalog.c */
void mcp_lists_init(struct mcp_client *c);
void mcp_lists_start(struct mcp_client *c, const struct json *capabilities); /* leads to READY */
bool mcp_lists_take_notice(struct mcp_client *c, struct str method);         /* false: not about a list */
void mcp_lists_stop(struct mcp_client *c); /* the connection is lost; complete lists stay */
/* catalog.c. hello: the result of initialize; texts: the lists, "" for a missing one. Returns owned. */
struct mcp_catalog *mcp_catalog_new(struct str hello, const struct str texts[MCP_LIST_KINDS], bool has_resources);
/* The input schema as the API takes it, in the arena. */
const char *mcp_schema_flat(const struct json *schema, struct arena *arena);
