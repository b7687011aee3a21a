/* SPDX-License-Identifier: MIT
 * client_int.h - one connection, for the files of this room. */
#pragma once
#include "mcp/client/client.h"

/* rpc.c: messages and open requests of one client. */

/* A request before the connection is ready waits for it. One that the server certainly has not processed is sent again,
 * with a new id: its session expired, or the user had to visit a URL first. Every request ends exactly once: with the
 * answer, an error, a timeout, a cancel, a lost message or the end of the connection. Later messages for it are
 * ignored. */
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
/* Anything but a positive number counts as unset. */
uint64_t mcp_env_number(const struct mcp_env *env, const char *variable, uint64_t otherwise);
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
