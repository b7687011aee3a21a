/* SPDX-License-Identifier: MIT
 * server.h - the configuration of one MCP server. Immutable, shared by reference.
 *
 * `key` identifies a connection: entries with the same command or URL and the same environment or headers share it,
 * regardless of name and source. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/spawn.h"
#include "lib/json/json.h"
#include "lib/io/http.h"
#include "core/tool/tool_facts.h"

enum mcp_kind { MCP_STDIO, MCP_HTTP, MCP_SSE, MCP_SDK };

/* Source of an entry, highest priority first. */
enum mcp_scope {
	MCP_SCOPE_MANAGED,
	MCP_SCOPE_FLAG, /* --mcp-config, and servers of a host */
	MCP_SCOPE_LOCAL,
	MCP_SCOPE_PROJECT,
	MCP_SCOPE_USER,
	MCP_SCOPE_PLUGIN,
	MCP_SCOPE_AGENT, /* inline in an agent definition */
};

struct mcp_oauth {
	const char *client_id, *client_secret, *metadata_url; /* NULL: not given */
	const char *scopes;                                   /* separated by spaces; NULL: the server's default */
	unsigned callback_port;                               /* 0: any */
	bool machine;                                         /* "grantType": "client_credentials": without a user */
	const char *private_key; /* PEM, for client authentication instead of a secret; NULL: none */
	/* An identity provider, whose token for the user is exchanged for one for the server; NULL: none */
	const char *idp_token_url, *idp_client_id, *idp_token;
};

#define MCP_SEAL_MARK " sha256:" /* between name and digest of an entry that was approved; in no name */

struct mcp_server {
	unsigned refs;
	struct arena arena; /* holds the texts */
	const char *name;   /* as written */
	const char *key;
	enum mcp_kind kind;
	enum mcp_scope scope;
	const char *file; /* source file; "--mcp-config" for JSON on the command line; NULL: from a host */
	unsigned line;    /* 0: not known */
	const char *command;
	const char *const *args; /* without the command; NULL-terminated */
	const char *const *env;  /* "NAME=value", NULL-terminated, in addition to the inherited ones */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *headers_helper; /* shell command that prints a JSON object of headers; NULL: none */
	struct mcp_oauth oauth;
	struct child_wishes wishes; /* "sandbox": of a stdio server, if it runs in one */
	const char *wishes_text;    /* as written; NULL: none */
	uint64_t timeout_ms;        /* of a call, wall clock; 0: the default */
	struct mcp_tool_policy {
		const char *tool; /* the server's own name */
		bool denied;      /* otherwise each call is asked about */
	} * policies;             /* "tools": limits of single tools */
	size_t policy_count;
	bool always_load; /* its tools are never deferred */
	bool comms;       /* "role": "comms": a coordinator has its tools itself */
	bool believed;    /* headers_helper may run: false for a project in an untrusted folder */
	bool of_project;  /* defined by the project: gets no variable for which env_is_secret() */
};

const char *mcp_kind_word(enum mcp_kind kind);    /* "stdio", "http", "sse", "sdk" */
const char *mcp_scope_word(enum mcp_scope scope); /* "managed", "flag", "local", "project", "user", "plugin", "agent" */

/* Whether a project or plugin brings it, for what holds its program. */
enum child_of mcp_server_origin(const struct mcp_server *s);

/* keeps a reference, returns it */
static inline struct mcp_server *mcp_server_ref(struct mcp_server *s)
{
	s->refs++;
	return s;
}

void mcp_server_unref(struct mcp_server *s); /* NULL is allowed */

/* Lookup for ${NAME} and ${NAME:-default}. Returns borrowed text, or NULL if unset. */
typedef const char *mcp_lookup_fn(void *data, struct str name);

struct mcp_entry {
	struct str name;
	const struct json *value;
	enum mcp_scope scope;
	const char *file;
	unsigned line;
	bool believed, of_project;
	mcp_lookup_fn *lookup; /* NULL: the environment */
	void *data;
	const char *const *env; /* "NAME=value" defaults, overridden by the entry, NULL-terminated; NULL: none */
};

/* One entry of "mcpServers". notes (may be NULL) gets a line for each unset variable (its text stays) and each unknown
 * member. An invalid entry: -ERR_USAGE with FILE:LINE in front, and ret_type (may be NULL) one of the words of
 * mcp_server_errors: "unknown_type", "url_missing_type", "invalid_config", "reserved_name". Returns owned. */
int mcp_server_read(const struct mcp_entry *entry, struct buf *notes, struct mcp_server **ret_server,
		    const char **ret_type, struct err *err);

/* Computes `key`, in the arena of the server; all other fields must be set. */
const char *mcp_server_key(struct mcp_server *s);
/* Same command and arguments, or same URL; environment and headers are ignored. Same keys have the same endpoint. */
bool mcp_server_same_endpoint(const struct mcp_server *a, const struct mcp_server *b);

/* Process environment of server connections. Users with the same one share connections. */

/* All borrowed, but for what mcp_env_new() made; outlives the transports. */
struct mcp_env {
	unsigned refs;      /* 0: not counted */
	struct arena arena; /* of one that is counted: holds the texts */
	struct loop *loop;
	struct spawner *spawner;
	struct http *http;
	const char *const *envp;              /* of child processes */
	const char *cwd;                      /* their working directory */
	const char *project_dir, *session_id; /* CLAUDE_PROJECT_DIR, CLAUDE_CODE_SESSION_ID */
	const char *const *roots;             /* "file://..." each, which servers may ask for; NULL: none */
	bool held; /* programs are held by the cage; NULL: its session is gone, none starts */
	void *cage;
	const char *auth_file;        /* token store; NULL: none */
	struct change_queue *changes; /* for it; NULL: its lock is waited for */
	/* Opens the user's browser at this URL; NULL: interactive authorisation fails. */
	void (*open_url)(void *data, const char *url);
	void *data;
};

/* Copies base and its texts; returns owned. */
struct mcp_env *mcp_env_new(const struct mcp_env *base);
void mcp_env_set(struct mcp_env *env, const struct mcp_env *base); /* the same, of one that is there */
static inline struct mcp_env *mcp_env_ref(struct mcp_env *env)     /* keeps a reference, returns it */
{
	env->refs += env->refs > 0;
	return env;
}
void mcp_env_unref(struct mcp_env *env); /* NULL is allowed */
