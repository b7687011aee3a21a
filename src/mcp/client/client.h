/* SPDX-License-Identifier: MIT
 * client.h - one connection to one MCP server: handshake, lists, calls. docs/internals/mcp.md has its states.
 *
 * Lists (tools, prompts, resources) are fetched if advertised and refetched after list_changed; the old list stays
 * until a new one is complete. */
#pragma once
#include "mcp/transport/transport.h"

struct mcp_client;
struct mcp_request; /* one that is open */

enum mcp_state {
	MCP_PENDING, /* starting, or waiting to reconnect */
	MCP_CONNECTED,
	MCP_NEEDS_AUTH,
	MCP_FAILED,
	MCP_DISABLED,
};
const char *mcp_state_word(enum mcp_state state); /* "pending", "connected", "needs-auth", "failed", "disabled" */

/* A supported protocol version, as a constant; NULL: unsupported. "": the newest one. */
const char *mcp_version(struct str version);

struct mcp_tool {
	const char *name, *title, *description;
	const char *schema; /* JSON object, a root-level anyOf/oneOf/allOf flattened */
	bool read_only, destructive, open_world;
	bool always_load, needs_user; /* of _meta */
	size_t most_chars;            /* _meta anthropic/maxResultSizeChars; 0: the default limit */
};
struct mcp_prompt_argument {
	const char *name, *description;
	bool required;
};
struct mcp_prompt {
	const char *name, *title, *description;
	const struct mcp_prompt_argument *arguments;
	size_t argument_count;
};
struct mcp_resource {
	const char *uri, *name, *title, *description, *mime_type;
	const char *json; /* as the server listed it */
};

/* Immutable, shared by reference: running agents keep their catalog */
struct mcp_catalog {
	unsigned refs;
	struct arena arena;
	struct mcp_tool *tools;
	size_t tool_count;
	struct mcp_prompt *prompts;
	size_t prompt_count;
	struct mcp_resource *resources;
	size_t resource_count;
	bool has_resources;       /* the server has the capability, even with an empty list */
	const char *instructions; /* instructions of the server for the model; "" */
	const char *server_name, *server_version;
};
/* keeps a reference, returns it */
static inline struct mcp_catalog *mcp_catalog_ref(struct mcp_catalog *c)
{
	c->refs++;
	return c;
}

void mcp_catalog_unref(struct mcp_catalog *c); /* NULL is allowed */

/* A question of a server during a call. Answer with mcp_elicitation_answer, once, now or later. */
struct mcp_elicitation {
	const char *server; /* its name */
	const char *mode;   /* "form" or "url" */
	struct str message;
	struct str schema;    /* JSON; of a form */
	const char *url, *id; /* of "url" */
	void *owner;          /* data of the answering side */
};
/* action: "accept", "decline" or "cancel"; content: JSON object of an accepted form; schema defaults fill missing
 * members. Frees the elicitation. */
void mcp_elicitation_answer(struct mcp_elicitation *e, const char *action, struct str content);

/* What the host of connections gets and offers. All come from the loop. Any may be NULL. */
struct mcp_host_events {
	/* A log message of or about the server, without its name. level: as in syslog. */
	void (*on_log)(void *data, const struct mcp_client *c, const char *level, struct str text);
	/* NULL: declined. */
	void (*on_elicitation)(void *data, const struct mcp_client *c, struct mcp_elicitation *e);
	/* The answer is no longer needed: it is freed after this call and must not be answered. */
	void (*on_elicitation_gone)(void *data, struct mcp_elicitation *e);
	/* Creates the transport of an SDK server; NULL: by the server's kind. */
	struct mcp_transport *(*make_transport)(void *data, struct mcp_server *server,
						const struct mcp_transport_handlers *handlers, void *handler_data);
	void *data;
};

struct mcp_client_options {
	const struct mcp_env *env; /* borrowed, as is what is in it */
	struct mcp_server *server; /* a reference is kept */
	struct mcp_host_events host;
	/* From the loop; several changes in one turn are reported once. Either may be NULL. */
	void (*on_state)(struct mcp_client *c, void *data);   /* mcp_client_state has changed */
	void (*on_catalog)(struct mcp_client *c, void *data); /* a list has changed */
	void *data;
};

struct mcp_client *mcp_client_new(const struct mcp_client_options *options); /* nothing runs yet */
void mcp_client_start(struct mcp_client *c); /* also after a failure; ends a running back-off */
/* Shuts down: open requests fail, the process or session ends; done comes from the loop, then it is freed. */
void mcp_client_close(struct mcp_client *c, void (*done)(void *data), void *data);
enum mcp_state mcp_client_state(const struct mcp_client *c);
const char *mcp_client_error(const struct mcp_client *c);     /* why it failed; "" */
struct mcp_catalog *mcp_client_catalog(struct mcp_client *c); /* returns a reference; NULL: never connected */
void mcp_client_roots_changed(struct mcp_client *c);
const struct mcp_server *mcp_client_server(const struct mcp_client *c);

/* The end of a request. result: the JSON of `result`, borrowed until return; err: the server's error (result is then
 * its error object, whose text may be longer), a timeout, a lost connection (with the server's name), or
 * ERR_CANCELLED. */
typedef void mcp_answer_fn(void *data, const struct json *result, const struct err *err);
typedef void mcp_progress_fn(void *data, double progress, double total, struct str message);

struct mcp_call {
	const char *method;        /* "tools/call", "resources/read", "prompts/get", ... */
	struct str params;         /* JSON object without _meta; empty: none */
	const char *tool_use_id;   /* into _meta "claudecode/toolUseId"; NULL: none */
	uint64_t timeout_ms;       /* 0: the server's, else the default */
	mcp_answer_fn *answer;     /* from the loop, exactly once, also after a cancel */
	mcp_progress_fn *progress; /* NULL: not requested */
	void *data;
	const void *owner; /* set by mcp_lease_call: the lease */
};
/* A call before the connection is ready waits for it, within its time limit; on a failed or unauthorised client it ends
 * with an error. call is borrowed until return. The request may be cancelled until its answer. */
struct mcp_request *mcp_client_call(struct mcp_client *c, const struct mcp_call *call);
void mcp_request_cancel(struct mcp_request *r,
			const char *reason); /* notifies the server; answer comes with ERR_CANCELLED */
